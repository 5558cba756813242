import { setTimeout as sleep } from 'node:timers/promises'
import { MOST_DELIVERY_ATTEMPTS } from '../../packages/server/src/work/deliver/delivery-pace.ts'
import type { CrashLab } from './crash-lab.ts'
import { findPoint } from './find-point.ts'
import { letTimePass } from './let-time-pass.ts'
import { isCopying } from './meanwhile.ts'
import type { Moment } from './orders.ts'
import type { Legacy } from './scenario.ts'
import type { Stage } from './stage.ts'
import { until } from './until.ts'

interface Beginning {
  lab: CrashLab
  stage: Stage
  /** Makes what the wish belongs to. */
  begin(): Promise<void>
  submit(): Promise<unknown>
  storeFolder: string | undefined
}

interface LeftBehind {
  /** A request that the dead process has not answered. */
  submitted?: Promise<unknown>
  /** What else happens while the process runs that came after it. */
  goOn?(): Promise<void>
}

const WITHIN = { withinMs: 30_000 }
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** A create is not sent when its mark took more than two seconds. */
const TOO_LATE_MS = 2_200

/** What a first process does with a wish until it is killed, and what time does to it then. */
export const leaveBehind: Record<Legacy, (beginning: Beginning) => Promise<LeftBehind>> = {
  'lost-create': (beginning) => dieAt(beginning, BEFORE_THE_CREATE),

  async unmarked(beginning) {
    const left = await dieAt(beginning, BEFORE_THE_CLAIM)
    // The claim only reads it.
    const job = await beginning.stage.database.hold('select from holdfast.provider_jobs for update')
    return {
      ...left,
      async goOn() {
        try {
          await until('a mark that waits', async () => (await job.waiting()) > 0, WITHIN)
          await sleep(TOO_LATE_MS)
        } finally {
          await job.release()
        }
      },
    }
  },

  async 'type-withdrawn'(beginning) {
    const left = await dieAt(beginning, BEFORE_THE_CLAIM)
    beginning.stage.withdraw('image')
    return left
  },

  async 'deaf-for-days'({ stage, begin, submit }) {
    const { sql } = stage
    const first = await stage.start()
    await begin()
    await submit()
    await until(
      'an end that nobody wants to hear of',
      async () => {
        const [refused] = await sql`
          select from holdfast.tasks t join holdfast.work w on w.task_id = t.id
          where t.finished_at is not null and w.kind = 'deliver' and w.attempts > 0
        `
        return refused
      },
      WITHIN,
    )
    await first.kill()
    await stage.bury(first)
    await sql`
      update holdfast.work set attempts = ${MOST_DELIVERY_ATTEMPTS - 1}, due_at = now() where kind = 'deliver'
    `
    return {}
  },

  async 'half-copied'({ stage, begin, submit, storeFolder }) {
    const first = await stage.start()
    await begin()
    await submit()
    await until('half a file', () => isCopying(storeFolder), WITHIN)
    await first.kill()
    await stage.bury(first)
    return {}
  },

  async silent(beginning) {
    const { sql, simulator } = beginning.stage
    const taskId = await dieUnheard(beginning)
    await letTimePass(sql, taskId, 2 * HOUR_MS + MINUTE_MS)
    await pollLater(sql, taskId)
    const polls = () => simulator.log.filter(({ path }) => path.includes('/recordInfo')).length
    const before = polls()
    return {
      async goOn() {
        await until('a last poll', async () => polls() > before, WITHIN)
        const [task] = await sql`select status from holdfast.tasks`
        if (task?.status !== 'running') throw new Error(`It is ${task?.status} without a last chance.`)
        await sql`update holdfast.work set silent_since = silent_since - interval '5 min'`
      },
    }
  },

  async 'unheard-for-a-day'(beginning) {
    const { sql } = beginning.stage
    const taskId = await dieUnheard(beginning)
    await letTimePass(sql, taskId, 25 * HOUR_MS)
    await pollLater(sql, taskId)
    return {}
  },
}

interface LastMoment {
  file: string
  text: string
  moment: Moment
}

/** Its task is made, and nobody has claimed it: a claim marks what it takes. */
const BEFORE_THE_CLAIM: LastMoment = {
  file: 'tasks/create-submit.ts',
  text: 'await createTogether(',
  moment: 'after',
}
/** Its create is marked as being sent, and was not. */
const BEFORE_THE_CREATE: LastMoment = {
  file: 'work/send/run-send.ts',
  text: 'await context.calls.create(',
  moment: 'before',
}

/** Runs it until it is killed on the way of its first submit. */
async function dieAt(
  { lab, stage, begin, submit }: Beginning,
  { file, text, moment }: LastMoment,
): Promise<{ submitted: Promise<unknown> }> {
  const first = await stage.start({
    sourcesFile: lab.sourcesFile,
    armAt: '',
    kill: { point: findPoint(lab.points, file, text), moment, hit: 1 },
  })
  await begin()
  const submitted = submit()
  await stage.bury(first)
  return { submitted }
}

/** Runs it until a poll has told nothing. */
async function dieUnheard({ stage, begin, submit }: Beginning): Promise<string> {
  const first = await stage.start()
  await begin()
  await submit()
  const { taskId } = await until(
    'a poll that tells nothing',
    async () => {
      const [work] = await stage.sql<{ taskId: string }[]>`
        select task_id as "taskId" from holdfast.work where kind = 'poll' and silent_since is not null
      `
      return work
    },
    WITHIN,
  )
  await first.kill()
  await stage.bury(first)
  return taskId
}

/** What comes now comes from a sweep. */
async function pollLater(sql: Stage['sql'], taskId: string): Promise<void> {
  await sql`update holdfast.work set due_at = now() + interval '1 h' where task_id = ${taskId} and kind = 'poll'`
}
