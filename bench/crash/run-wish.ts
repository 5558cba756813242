import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type postgres from 'postgres'
import { type CaseState, isFinished, readCaseState } from './case-state.ts'
import { type CaseReport, type CrashCase, FINISH_WITHIN_MS } from './crash-case.ts'
import type { CrashLab } from './crash-lab.ts'
import { findViolations } from './find-violations.ts'
import { leaveBehind } from './leave-behind.ts'
import { meanwhile, passLeases, untilSaid } from './meanwhile.ts'
import type { Orders } from './orders.ts'
import { playOut } from './play-out.ts'
import type { WishScenario } from './scenario.ts'
import { sendElsewhere } from './send-elsewhere.ts'
import { onStage, type Stage } from './stage.ts'
import type { ServerProcess } from './start-server-process.ts'
import { hashOfSource, readStoredFiles } from './stored-files.ts'
import { until } from './until.ts'

/** A stream that was cut off is there again at once, and looks at what it has missed. */
const SHOWN_WITHIN_MS = 5_000

async function look(sql: postgres.Sql): Promise<CaseState> {
  const state = await readCaseState(sql)
  await passLeases(sql)
  return state
}

/** One wish of one user, with a server dying at the given point and another one started after it. */
export function runWish(lab: CrashLab, crash: CrashCase<WishScenario>): Promise<CaseReport> {
  const { mirror, told, oddity, shared } = crash.scenario
  const storeFolder = mirror ? lab.newFile('store') : undefined
  return onStage(lab, { storeFolder, told, oddity, shared, look }, (stage) =>
    play(lab, crash, stage, storeFolder),
  )
}

async function play(
  lab: CrashLab,
  crash: CrashCase<WishScenario>,
  stage: Stage<CaseState>,
  storeFolder: string | undefined,
): Promise<Omit<CaseReport, 'said'>> {
  const { scenario, kill } = crash
  const { sql, client, simulator, gate, databaseGate, atDeath } = stage
  const recordFile = crash.record ? lab.newFile('passed') : undefined
  const sends = () => simulator.log.filter(({ path }) => path.endsWith('/createTask')).length

  const conversationId = randomUUID()
  const key = randomUUID()
  const submission = {
    type: scenario.type,
    params: { prompt: scenario.prompt },
    conversationId,
    placeholderId: `placeholder-${key}`,
    ...(scenario.adopted
      ? { externalId: await sendElsewhere(simulator.url, scenario.type, scenario.prompt) }
      : {}),
  }
  const orders: Orders = { sourcesFile: lab.sourcesFile, armAt: scenario.armAt, kill, recordFile }
  const answeredIds: string[] = []
  const submit = async () => answeredIds.push((await client.submit(submission, key)).task.id)

  const begin = async () => {
    await client.createConversation(conversationId)
    // An endpoint is told what happens from its first registration on.
    if (scenario.told) await until('an endpoint', () => isEndpointKnown(sql), { withinMs: FINISH_WITHIN_MS })
  }
  const legacy = scenario.legacy && leaveBehind[scenario.legacy]
  const left = await legacy?.({ lab, stage, begin, submit, storeFolder })
  if (isReplyHeld(scenario)) gate.hold()
  const isDatabaseLate = scenario.oddity === 'database-late'
  if (isDatabaseLate) await databaseGate.cut()
  const watched = await stage.start(orders)
  // At once: it may die before it answers anything.
  stage.succeed(watched)
  if (isDatabaseLate)
    await untilSaid(watched, 'waiting for PostgreSQL before work begins').finally(databaseGate.mend)
  await left?.submitted
  if (!legacy) await begin()

  if (scenario.twice) {
    const keys = await stage.database.hold('lock table holdfast.idempotency_keys in share mode')
    const both = Promise.all([submit(), submit()])
    // Waited for below; should the first fail to come so far, that is what is told.
    both.catch(() => undefined)
    // The first has found no earlier task and is about to take the key; the second waits for its turn behind it.
    await until(
      'a create that takes its key',
      async () => !watched.isAlive() || (await keys.waiting()) >= 1,
      {
        withinMs: FINISH_WITHIN_MS,
      },
    ).finally(() => keys.release())
    await both
  } else {
    await submit()
  }
  await left?.goOn?.()
  await meanwhile({ scenario, stage, watched, storeFolder })
  const created = () =>
    until('the create at the provider', async () => simulator.creates() === 1, {
      withinMs: FINISH_WITHIN_MS,
      everyMs: 2,
    })
  if (crash.killOnCreate) {
    await created()
    await watched.kill()
  }
  if (scenario.cancel) {
    const running = async () => (await readCaseState(sql)).tasks.some(({ status }) => status === 'running')
    // Not by what was accepted: a create may be refused, too.
    const arrived = async () => sends() >= 1
    if (scenario.cancel === 'sending') {
      await until('the create at the provider', arrived, { withinMs: FINISH_WITHIN_MS, everyMs: 2 })
    }
    if (scenario.cancel === 'running') await until('a running task', running, { withinMs: FINISH_WITHIN_MS })
    const status = await client.cancel(answeredIds[0] ?? '')
    // A server that died in between may have left a task that has ended as unknown.
    const may = scenario.cancel === 'sending' && !watched.isAlive() ? [200, 409] : [200]
    if (!may.includes(status)) throw new Error(`The cancel was answered with ${status}`)
    gate.release()
  }

  const finished = () =>
    until('the end of the task', async () => isFinished(await readCaseState(sql)), {
      withinMs: FINISH_WITHIN_MS,
    }).catch(() => undefined)
  const died = await playOut(stage, watched, { dies: kill !== undefined, done: finished })
  const passed = recordFile ? (await readFile(recordFile, 'utf8')).trim().split('\n') : []
  // The client asks once more, as after a lost answer: it must find the same task.
  await submit()

  const end = await readCaseState(sql)
  const [task] = end.tasks
  // Hints may be lost with a server; the stream looks for itself every half second.
  const isShown = async () => task === undefined || client.seen(task.id)?.status === task.status
  const shown = await until('an end that the page shows', isShown, { withinMs: SHOWN_WITHIN_MS }).then(
    () => [],
    () => [`the page shows the task as ${client.seen(task?.id ?? '')?.status ?? 'nothing'}`],
  )
  const creates = simulator.creates()
  const [artifact] = end.artifacts
  const files =
    storeFolder && artifact
      ? {
          ...(await readStoredFiles(storeFolder)),
          source: artifact.state === 'stored' ? await hashOfSource(artifact.sourceUrl) : '',
        }
      : null
  return {
    died,
    outcome: task ? (task.failureCode ?? task.status) : 'no task',
    creates,
    sends: sends(),
    messages: end.messages.length,
    violations: findViolations({
      scenario,
      atDeath,
      end,
      answeredIds,
      creates,
      sends: sends(),
      files,
      heard: stage.listener?.heard ?? null,
    }).concat(shown, atOdds(scenario, watched)),
    passed,
  }
}

async function isEndpointKnown(sql: postgres.Sql): Promise<boolean> {
  const [endpoint] = await sql`select from holdfast.webhook_endpoints`
  return endpoint !== undefined
}

/** From the start, since nobody knows how soon it comes. */
function isReplyHeld({ cancel, stopped, oddity }: WishScenario): boolean {
  return cancel === 'sending' || stopped === 'sending' || oddity === 'database-cut'
}

/** A server ends when it is killed or told to. */
function atOdds({ stopped }: WishScenario, watched: ServerProcess): string[] {
  if (stopped && watched.isAlive()) return ['the server has not stopped']
  return stopped || watched.isAlive() || watched.wasKilled() ? [] : ['the server ended by itself']
}
