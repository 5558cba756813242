import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chooseKills } from '../../bench/crash/choose-kills.ts'
import type { CaseReport, CrashCase } from '../../bench/crash/crash-case.ts'
import { type CrashLab, openCrashLab } from '../../bench/crash/crash-lab.ts'
import { findPoint } from '../../bench/crash/find-point.ts'
import type { Moment } from '../../bench/crash/orders.ts'
import { recordHits } from '../../bench/crash/record-hits.ts'
import { runCase } from '../../bench/crash/run-case.ts'
import { runInLanes } from '../../bench/crash/run-in-lanes.ts'
import type { Scenario } from '../../bench/crash/scenario.ts'
import { REPLY_UNDER_WAY, SCENARIOS } from '../../bench/crash/scenarios.ts'
import { whyUnreached } from '../../bench/crash/unreached.ts'

/** The whole proof, every await of the paths, is `npm run proof -- crash`; this is its most dangerous handful. */
interface Dangerous {
  title: string
  file: string
  /** What is written on the line of the await. */
  text: string
  moment: Moment
  hit?: number
  outcome: 'completed' | 'SUBMIT_UNKNOWN'
  creates: number
}

const DANGEROUS: Dangerous[] = [
  {
    title: 'inside the transaction that makes the task',
    file: 'tasks/idempotency-key.ts',
    text: 'const taken = await tx',
    moment: 'after',
    outcome: 'completed',
    creates: 1,
  },
  {
    title: 'inside the transaction that makes the task, with its price held',
    file: 'plugins/credits/credits-plugin.ts',
    text: 'await holdCredits(',
    moment: 'after',
    outcome: 'completed',
    creates: 1,
  },
  {
    title: 'when the task is committed and the client not yet answered',
    file: 'tasks/create-task.ts',
    text: 'const taskId = await (input.room',
    moment: 'after',
    outcome: 'completed',
    creates: 1,
  },
  {
    title: 'before the claim that marks it as being sent',
    file: 'work/send/send-kind.ts',
    text: 'await claimSends(',
    moment: 'before',
    outcome: 'completed',
    creates: 1,
  },
  {
    title: 'between the mark and the create',
    file: 'work/send/run-send.ts',
    text: 'await context.calls.create(',
    moment: 'before',
    outcome: 'SUBMIT_UNKNOWN',
    creates: 0,
  },
  {
    title: 'with the reply to the create read and not yet written down',
    file: 'work/send/run-send.ts',
    text: 'await context.calls.create(',
    moment: 'after',
    outcome: 'SUBMIT_UNKNOWN',
    creates: 1,
  },
  {
    title: 'when the external id is about to be written down',
    file: 'work/send/accept-together.ts',
    text: 'const started = await retryDeadlock(',
    moment: 'before',
    outcome: 'SUBMIT_UNKNOWN',
    creates: 1,
  },
  {
    title: 'when the external id has been committed',
    file: 'database/until-written.ts',
    text: 'await write()',
    moment: 'after',
    hit: 1,
    outcome: 'completed',
    creates: 1,
  },
  {
    title: 'with the answer to a poll in hand',
    file: 'work/poll/run-poll.ts',
    text: 'await context.calls.query(',
    moment: 'after',
    outcome: 'completed',
    creates: 1,
  },
  {
    title: 'inside the settling transaction, with the credits spent',
    file: 'plugins/credits/credits-plugin.ts',
    text: 'await endHolds(',
    moment: 'after',
    outcome: 'completed',
    creates: 1,
  },
  {
    title: 'inside the settling transaction, with the message written',
    file: 'plugins/conversations/write-messages.ts',
    text: 'await tx`',
    moment: 'after',
    outcome: 'completed',
    creates: 1,
  },
  {
    title: 'when the end has been committed and told, and the poll does not know it',
    file: 'work/poll/run-poll.ts',
    text: '? await context.settle(',
    moment: 'after',
    outcome: 'completed',
    creates: 1,
  },
]

/** From the provider's success to the stored file: one message, one object, the right bytes, nothing left over. */
const COPYING: Pick<Dangerous, 'title' | 'file' | 'text' | 'moment'>[] = [
  {
    title: 'with the file written down as a result and not yet committed',
    file: 'tasks/settle-together.ts',
    text: 'const ended = await sql',
    moment: 'after',
  },
  {
    title: 'with the file claimed',
    file: 'work/copy/copy-kind.ts',
    text: 'const works = await claimCopies(',
    moment: 'after',
  },
  {
    title: 'in the middle of the transfer',
    file: 'objects/object-file.ts',
    text: 'await writeChunks(',
    moment: 'during',
  },
  {
    title: 'with all bytes on the disk and not in their place',
    file: 'objects/filesystem-store.ts',
    text: 'await moveTo(path, temporary)',
    moment: 'before',
  },
  {
    title: 'with the object stored and not written down',
    file: 'work/copy/copy-file.ts',
    text: 'await objects.put(',
    moment: 'after',
  },
  {
    title: 'while the statement that writes it down is on its way',
    file: 'work/copy/mark-stored.ts',
    text: 'const written = await retryDeadlock(',
    moment: 'during',
  },
  {
    title: 'when it is written down and nobody was told',
    file: 'work/copy/mark-stored.ts',
    text: 'const written = await retryDeadlock(',
    moment: 'after',
  },
]

/** Nobody's step but the sweeps': what had to go is gone, what had to stay is there, and what ends, ends once. */
const SWEEPING: (Pick<Dangerous, 'title' | 'file' | 'text' | 'moment'> & {
  scenario: string
  outcome: string
})[] = [
  {
    title: 'with files removed and their rows still naming them',
    scenario: 'things of all ages',
    file: 'sweeps/sweep-expired-files.ts',
    text: 'await objects?.delete(',
    moment: 'after',
    outcome: 'swept',
  },
  {
    title: 'while a silent task is being given up',
    scenario: 'falls silent',
    file: 'work/poll/sweep-silent.ts',
    text: 'await sparingOthers(',
    moment: 'during',
    outcome: 'SILENT_TOO_LONG',
  },
]

/** What somebody asks for: as a whole or not at all, and once, however often it is asked. */
const ASKING: typeof SWEEPING = [
  {
    title: 'with the id that a late webhook brought kept, and its delivery not noted',
    scenario: 'called back too late',
    file: 'webhooks/hear-webhook.ts',
    text: 'await acceptLate(',
    moment: 'after',
    outcome: 'answered',
  },
  {
    title: 'with a dead letter sent anew and not marked as such',
    scenario: 'dead letter retried',
    file: 'dead-letters/dead-letters.ts',
    text: 'const { task } = await retryTask(',
    moment: 'after',
    outcome: 'answered',
  },
  {
    title: 'inside the transaction that makes up for a plugin',
    scenario: 'saved later',
    file: 'tasks/save-task.ts',
    text: 'const failed = await joinApart(',
    moment: 'after',
    outcome: 'answered',
  },
]

const [completes] = SCENARIOS as [Scenario]
const isCopied = SCENARIOS.find(({ name }) => name === 'is copied') as Scenario
const LANES = 3
const DRAWN = 4
const SEED = 20261116

let lab: CrashLab
let reports: Map<string, CaseReport>
let passed: ReadonlyMap<string, number>

beforeAll(async () => {
  lab = await openCrashLab()
  const cases = new Map<string, CrashCase>(
    DANGEROUS.map(({ title, file, text, moment, hit = 1 }) => [
      title,
      { scenario: completes, kill: { point: findPoint(lab.points, file, text), moment, hit } },
    ]),
  )
  for (const { title, file, text, moment } of COPYING) {
    cases.set(title, {
      scenario: isCopied,
      kill: { point: findPoint(lab.points, file, text), moment, hit: 1 },
    })
  }
  for (const { title, scenario: name, file, text, moment } of [...SWEEPING, ...ASKING]) {
    const scenario = SCENARIOS.find((one) => one.name === name) as Scenario
    cases.set(title, { scenario, kill: { point: findPoint(lab.points, file, text), moment, hit: 1 } })
  }
  cases.set(REPLY_UNDER_WAY.name, { scenario: REPLY_UNDER_WAY, killOnCreate: true })
  passed = await recordHits(lab, completes)
  const kills = chooseKills(completes, passed, 5)
  const random = seeded(SEED)
  for (let index = 0; index < DRAWN; index++) {
    const kill = kills[Math.floor(random() * kills.length)]
    cases.set(`drawn ${index}`, { scenario: completes, kill })
  }
  const jobs = [...cases]
  reports = new Map(
    await runInLanes(jobs, LANES, async ([title, crash]) => [title, await runCase(lab, crash)]),
  )
}, 360_000)

afterAll(() => lab?.close(), 60_000)

describe('a server killed with SIGKILL and started again (F8, F10, F11)', () => {
  it.each(DANGEROUS)('$title: $outcome', ({ title, outcome, creates }) => {
    expectReport(title, { violations: [], died: true, outcome, creates })
  })

  it.each(COPYING)('$title: one message, one object, the right bytes (O2)', ({ title }) => {
    expectReport(title, { violations: [], died: true, outcome: 'completed', creates: 1, messages: 1 })
  })

  it.each(SWEEPING)('$title: $outcome (O5, O6, Q4)', ({ title, outcome }) => {
    expectReport(title, { violations: [], died: true, outcome })
  })

  it.each(ASKING)('$title: $outcome', ({ title, outcome }) => {
    expectReport(title, { violations: [], died: true, outcome })
  })

  it('at every await: each is passed by the first scenario, looked at by another, or has a reason not to be', () => {
    // Whether another one passes it too, only the whole proof can tell.
    const isLookedAt = (id: string) =>
      SCENARIOS.some(({ around }) => around?.some((start) => id.startsWith(start)))
    const forgotten = lab.points.filter(
      (point) => !passed.has(point.id) && !isLookedAt(point.id) && !whyUnreached(point),
    )
    expect(forgotten).toEqual([])
  })

  it('while the reply to the create is under way: one create, SUBMIT_UNKNOWN', () => {
    expectReport(REPLY_UNDER_WAY.name, { violations: [], died: true, outcome: 'SUBMIT_UNKNOWN', creates: 1 })
  })

  it('at awaits drawn by lot: no task lost, at most one create, one message', () => {
    for (let index = 0; index < DRAWN; index++) expectReport(`drawn ${index}`, { violations: [] })
  })
})

function expectReport(title: string, wanted: Partial<CaseReport>): void {
  const report = reports.get(title)
  expect(report, report?.said).toMatchObject(wanted)
}

/** The same numbers in [0, 1) every time (a linear congruential generator; nothing here needs a better one). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
