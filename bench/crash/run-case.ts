import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { startKieSimulator } from '../../packages/server/src/providers/kie/simulator/start-kie-simulator.ts'
import { type CaseState, isFinished, readCaseState } from './case-state.ts'
import { createCrashClient } from './crash-client.ts'
import type { CrashLab } from './crash-lab.ts'
import { findPoint } from './find-point.ts'
import { findViolations } from './find-violations.ts'
import type { Kill, Orders } from './orders.ts'
import type { Scenario } from './scenarios.ts'
import { startReplyGate } from './start-reply-gate.ts'
import { type ServerProcess, startServerProcess } from './start-server-process.ts'
import { hashOfSource, readStoredFiles } from './stored-files.ts'
import { until } from './until.ts'

export interface CrashCase {
  scenario: Scenario
  /** Where the instrumented server dies. Without it nobody does. */
  kill?: Kill
  /** Note the points passed. */
  record?: boolean
  /** Instead of at a point, the server is killed from outside as soon as the provider has accepted the create. */
  killOnCreate?: boolean
}

export interface CaseReport {
  /** Whether a process died where it was told to. */
  died: boolean
  /** `completed`, `cancelled`, or the failure code. */
  outcome: string
  creates: number
  sends: number
  messages: number
  violations: string[]
  /** The points passed until the task had ended, if they were to be noted. */
  passed: string[]
  /** What the servers said, oldest first; for reading after a violation. */
  said: string
}

/** The discard port: nobody listens there. */
/** Longest that a task may take to end once somebody is there to run it. */
const FINISH_WITHIN_MS = 30_000
/** What a server still does after the task has ended, it does at once; on a busy machine its death takes longer. */
const LAST_STEPS_MS = 500
const DIES_WITHIN_MS = 3_000

/** One wish of one user, with a server dying at the given point and another one started after it. */
export async function runCase(lab: CrashLab, crash: CrashCase): Promise<CaseReport> {
  const { scenario, kill } = crash
  const recordFile = crash.record ? lab.newFile('passed') : undefined
  let over = false
  let life: Promise<void> | undefined
  const undo: (() => Promise<unknown>)[] = []
  const servers: ServerProcess[] = []
  const atDeath: CaseState[] = []
  try {
    const database = await lab.createDatabase()
    undo.push(() => database.drop())
    // Eight seconds of generation in one.
    const simulator = await startKieSimulator({ speed: 8, random: () => 0.5, progressForAll: true })
    undo.push(() => simulator.close())
    const gate = await startReplyGate(simulator.url)
    undo.push(() => gate.close())
    if (scenario.cancel === 'sending') gate.hold()
    const kieUrl = gate.url
    const sends = () => simulator.log.filter(({ path }) => path.endsWith('/createTask')).length

    const storeFolder = scenario.mirror ? lab.newFile('store') : undefined
    let current: ServerProcess | null = null
    undo.push(async () => {
      for (const server of servers) await server.kill()
      // It may be about to start one more.
      await life?.catch(() => undefined)
      for (const server of servers) await server.kill()
    })
    const start = async (orders?: Orders) => {
      current = await startServerProcess({ databaseUrl: database.url, kieUrl, storeFolder, orders })
      servers.push(current)
      return current
    }
    const bury = async (server: ServerProcess) => {
      await server.died
      current = null
      // A statement on its way when its process died still runs to its end.
      await until('the end of its connections', async () => (await database.serverConnections()) === 0, {
        withinMs: 5_000,
      })
      atDeath.push(await readCaseState(database.sql))
    }

    const client = createCrashClient({ serverUrl: () => current?.url ?? null, userId: randomUUID() })
    undo.push(() => client.close())
    const conversationId = randomUUID()
    const key = randomUUID()
    const submission = {
      type: scenario.type,
      params: { prompt: scenario.prompt },
      conversationId,
      placeholderId: `placeholder-${key}`,
    }
    const orders: Orders = { sourcesFile: lab.sourcesFile, armAt: scenario.armAt, kill, recordFile }
    const answeredIds: string[] = []
    const submit = async () => answeredIds.push((await client.submit(submission, key)).task.id)

    let watched: ServerProcess
    if (scenario.afterLostCreate) {
      const first = await start({ ...orders, armAt: '', recordFile: undefined, kill: afterMarkSending(lab) })
      await client.createConversation(conversationId)
      const submitted = submit()
      await bury(first)
      watched = await start(orders)
      await submitted
    } else {
      watched = await start(orders)
      await client.createConversation(conversationId)
    }

    life = (async () => {
      await watched.died
      if (over) return
      await bury(watched)
      if (!over) await start()
    })()
    // Looked at below, where there is somebody to tell.
    life.catch(() => undefined)

    if (scenario.twice) {
      const keys = await database.holdKeys()
      const both = Promise.all([submit(), submit()])
      // Waited for below; should the collision fail to come, that is what is told.
      both.catch(() => undefined)
      // Both have found no earlier task and are about to take the key.
      await until('a collision', async () => !watched.isAlive() || (await keys.waiting()) >= 2, {
        withinMs: FINISH_WITHIN_MS,
      }).finally(() => keys.release())
      await both
    } else {
      await submit()
    }
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
      const running = async () =>
        (await readCaseState(database.sql)).tasks.some(({ status }) => status === 'running')
      if (scenario.cancel === 'sending') await created()
      else await until('a running task', running, { withinMs: FINISH_WITHIN_MS })
      const status = await client.cancel(answeredIds[0] ?? '')
      // A server that died in between may have left a task that has ended as unknown.
      const may = scenario.cancel === 'sending' && !watched.isAlive() ? [200, 409] : [200]
      if (!may.includes(status)) throw new Error(`The cancel was answered with ${status}`)
      gate.release()
    }

    const finished = () =>
      until('the end of the task', async () => isFinished(await readCaseState(database.sql)), {
        withinMs: FINISH_WITHIN_MS,
      }).catch(() => undefined)
    await finished()
    await Promise.race([watched.died, sleep(kill ? DIES_WITHIN_MS : LAST_STEPS_MS)])
    const died = !watched.isAlive()
    if (died) {
      await life
      await finished()
    }
    const passed = recordFile ? (await readFile(recordFile, 'utf8')).trim().split('\n') : []
    // The client asks once more, as after a lost answer: it must find the same task.
    await submit()

    const end = await readCaseState(database.sql)
    const [task] = end.tasks
    const creates = simulator.creates()
    const [artifact] = end.artifacts
    const files =
      storeFolder && artifact
        ? { ...(await readStoredFiles(storeFolder)), source: await hashOfSource(artifact.sourceUrl) }
        : null
    return {
      died,
      outcome: task ? (task.failureCode ?? task.status) : 'no task',
      creates,
      sends: sends(),
      messages: end.messages.length,
      violations: findViolations({ scenario, atDeath, end, answeredIds, creates, sends: sends(), files }),
      passed,
      said: said(servers),
    }
  } catch (error) {
    const sentence = error instanceof Error ? error.message : String(error)
    return {
      died: atDeath.length > 0,
      outcome: 'broken off',
      creates: 0,
      sends: 0,
      messages: 0,
      violations: [sentence],
      passed: [],
      said: said(servers),
    }
  } finally {
    over = true
    for (const step of undo.reverse()) await step()
  }
}

function said(servers: ServerProcess[]): string {
  return servers.map((server) => server.said()).join('\n--- the next one\n')
}

function afterMarkSending({ points }: CrashLab): Kill {
  return { point: findPoint(points, 'engine/run-submit.ts', '(await markSending('), moment: 'after', hit: 1 }
}
