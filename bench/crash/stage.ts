import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { startKieSimulator } from '../../packages/server/src/providers/kie/simulator/start-kie-simulator.ts'
import { startCuttableProxy } from '../../packages/server/test/cuttable-proxy.ts'
import type { CaseReport } from './crash-case.ts'
import { createCrashClient } from './crash-client.ts'
import type { CrashLab } from './crash-lab.ts'
import type { Oddity, Orders, Shared } from './orders.ts'
import { startListener, type Told } from './start-listener.ts'
import { startReplyGate } from './start-reply-gate.ts'
import { type ServerProcess, startServerProcess } from './start-server-process.ts'
import { until } from './until.ts'

interface StageOptions<State> {
  /** Where result files are copied to; they are not without it. */
  storeFolder?: string | undefined
  /** The application has an endpoint that is told what happens. */
  told?: Told | undefined
  oddity?: Oddity | undefined
  /** What the server shares with other replicas, which it would have. */
  shared?: Shared | undefined
  /** The user has no page open. */
  unwatched?: boolean | undefined
  /** Looks at what a process left behind when it died. */
  look(sql: postgres.Sql): Promise<State>
}

/** Where one case takes place: a database, a provider, a user with a browser, and servers that come and go. */
export type Stage<State = unknown> = Awaited<ReturnType<typeof open<State>>>

/** Plays one case. One that cannot be played to its end is a violation too. */
export async function onStage<State>(
  lab: CrashLab,
  options: StageOptions<State>,
  play: (stage: Stage<State>) => Promise<Omit<CaseReport, 'said'>>,
): Promise<CaseReport> {
  const stage = await open(lab, options)
  try {
    return { ...(await play(stage)), said: stage.said() }
  } catch (error) {
    return {
      died: stage.atDeath.length > 0,
      outcome: 'broken off',
      creates: 0,
      sends: 0,
      messages: 0,
      violations: [error instanceof Error ? error.message : String(error)],
      passed: [],
      said: stage.said(),
    }
  } finally {
    await stage.close()
  }
}

async function open<State>(lab: CrashLab, options: StageOptions<State>) {
  const { storeFolder, told, look } = options
  let { oddity } = options
  let over = false
  let withdrawn: string | undefined
  let current: ServerProcess | null = null
  let life: Promise<void> | undefined
  const servers: ServerProcess[] = []
  const atDeath: State[] = []
  const undo: (() => Promise<unknown>)[] = []
  const close = async () => {
    over = true
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const database = await lab.createDatabase()
    undo.push(() => database.drop())
    // Eight seconds of generation in one.
    const simulator = await startKieSimulator({ speed: 8, random: () => 0.5, progressForAll: true })
    undo.push(() => simulator.close())
    const gate = await startReplyGate(simulator.url)
    undo.push(() => gate.close())
    const listener = told ? await startListener(told) : null
    undo.push(async () => listener?.close())
    const databaseGate = await startCuttableProxy(database.url)
    undo.push(() => databaseGate.close())
    const isCut = oddity === 'database-late' || oddity === 'database-cut'
    if (oddity === 'finds-late') gate.lose()
    if (oddity === 'provider-away') await gate.leave()
    undo.push(async () => {
      for (const server of servers) await server.kill()
      // It may be about to start one more.
      await life?.catch(() => undefined)
      for (const server of servers) await server.kill()
    })
    const client = createCrashClient({ serverUrl: () => current?.url ?? null, userId: randomUUID() })
    undo.push(() => client.close())
    if (!options.unwatched) client.watch()
    const redisUrl = options.shared === 'redis' ? await lab.redisUrl() : undefined

    const start = async (orders?: Orders) => {
      current = await startServerProcess({
        // Past the gate where nobody shuts it.
        databaseUrl: isCut ? databaseGate.url : database.url,
        kieUrl: gate.url,
        shared: options.shared,
        redisUrl,
        storeFolder,
        tellUrl: listener?.url,
        withdrawn,
        oddity,
        orders,
      })
      servers.push(current)
      return current
    }
    /** Waits for its end, and looks at what it left behind. */
    const bury = async (server: ServerProcess) => {
      await server.died
      current = null
      // A statement on its way when its process died still runs to its end.
      await until('the end of its connections', async () => (await database.serverConnections()) === 0, {
        withinMs: 5_000,
      })
      atDeath.push(await look(database.sql))
    }

    return {
      sql: database.sql,
      database,
      simulator,
      gate,
      /** Between the servers and PostgreSQL, in the cases about that. */
      databaseGate,
      client,
      /** The endpoint of the application; null if it has none. */
      listener,
      /** What each process that died left behind, oldest first. */
      atDeath,
      start,
      bury,
      /** Servers started from now on do not offer such tasks. */
      withdraw(type: string): void {
        withdrawn = type
      },
      /** Around servers started from now on, this is as it is not, or all is as it should be. */
      change(to: Oddity | undefined): void {
        oddity = to
      },
      /** Has another server follow when this one dies. */
      succeed(server: ServerProcess): void {
        life = (async () => {
          await server.died
          if (over) return
          await bury(server)
          if (!over) await start()
        })()
        // Looked at by whoever waits for the successor.
        life.catch(() => undefined)
      },
      /** Until the successor of a dead server runs. */
      succeeded: () => life,
      /** What the servers said, oldest first. */
      said: () => servers.map((server) => server.said()).join('\n--- the next one\n'),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
