import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { migrate } from '../../packages/server/src/database/migrate.ts'
import { startEmbeddedPostgres } from '../../packages/server/src/embedded-postgres/start-embedded-postgres.ts'
import { freePort } from '../../packages/server/test/free-port.ts'
import { startTestNginx } from '../../packages/server/test/nginx-for-tests.ts'
import { startTestPgbouncer } from '../../packages/server/test/pgbouncer-for-tests.ts'
import { startTestRedis } from '../../packages/server/test/redis-for-tests.ts'
import { selfSigned } from '../../packages/server/test/self-signed.ts'
import { signToken, TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET } from '../../packages/server/test/test-tokens.ts'
import { recordHistory } from '../poller/read-tasks.ts'
import { startProvider } from '../poller/start-provider.ts'
import { type Child, startChild } from '../stream/child.ts'
import { type ClientsAnswer, type ClientsOrder, WAYS } from './client-messages.ts'
import { nginxSettings } from './nginx-settings.ts'
import { type ServeReplica, startServe } from './start-serve.ts'

/** `pooled`: over PostgreSQL, which all but the bus reach through PgBouncer in transaction mode. */
export type BusKind = 'redis' | 'postgres' | 'pooled'

/** Three replicas over one bus, nginx before them, and clients before that. */
export interface Stage {
  sql: postgres.Sql
  replicas: ServeReplica[]
  clients: Child<ClientsOrder, ClientsAnswer>
  close(): Promise<void>
}

export interface ReplicasLab {
  /** Returns when every client has its stream. */
  openStage(bus: BusKind, options: { users: readonly string[]; streamsPerUser: number }): Promise<Stage>
  /** The last words of all replicas so far. */
  said(): string
  close(): Promise<void>
}

const REPLICAS = 3
const SHOWN_LOG = 3_000

/** One PostgreSQL, which writes every commit to its disk and remembers when it did, and one Redis. */
export async function openReplicasLab(): Promise<ReplicasLab> {
  const undo = createUndo()
  const everyone: ServeReplica[] = []
  try {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-replicas-'))
    undo.add(() => rm(folder, { recursive: true, force: true }))
    // As root, PostgreSQL runs as another user, who must be able to enter.
    await chmod(folder, 0o755)
    const server = await startEmbeddedPostgres({
      dataDir: join(folder, 'database'),
      settings: { track_commit_timestamp: 'on' },
    })
    undo.add(() => rm(server.home, { recursive: true, force: true }))
    undo.add(() => server.stop())
    const redis = await startTestRedis()
    undo.add(() => redis.stop())

    async function openDatabase(name: string): Promise<string> {
      const admin = postgres(server.url, { max: 1, onnotice: () => {} })
      await admin`create database ${admin(name)}`
      await admin.end()
      return Object.assign(new URL(server.url), { pathname: name }).href
    }

    async function openStage(
      bus: BusKind,
      { users, streamsPerUser }: { users: readonly string[]; streamsPerUser: number },
    ): Promise<Stage> {
      const undoStage = createUndo()
      try {
        const databaseUrl = await openDatabase(`over_${bus}`)
        const sql = postgres(databaseUrl, { max: 2, onnotice: () => {} })
        undoStage.add(() => sql.end({ timeout: 1 }))
        await migrate(sql)
        await recordHistory(sql)
        await sql`alter table task_history add column xid xid8 default pg_current_xact_id()`
        const kie = await startProvider()
        undoStage.add(() => kie.close())
        // Refused at once, as every address in here is: one more write for each task, as a copied file is, and no retries.
        kie.fileUrl = (externalId) => `https://127.0.0.1/${externalId}.png`

        const pooler = bus === 'pooled' ? await startTestPgbouncer({ url: databaseUrl }) : null
        if (pooler) undoStage.add(() => pooler.stop())
        const env = {
          ...(pooler ? { DATABASE_URL: pooler.url, DIRECT_URL: databaseUrl } : { DATABASE_URL: databaseUrl }),
          BUS: bus === 'redis' ? 'redis' : 'postgres',
          // All of them work, so finishes come from everywhere.
          LOCK: 'none',
          ...(bus === 'redis' ? { REDIS_URL: redis.url } : {}),
          JWT_SECRET: TEST_SECRET,
          JWT_ISSUER: TEST_ISSUER,
          JWT_AUDIENCE: TEST_AUDIENCE,
          KIE_API_KEY: 'replicas-key',
          REQUESTS_PER_MINUTE: '1000000',
          REQUESTS_PER_MINUTE_ANONYMOUS: '1000000',
          KIE_BASE_URL: kie.url,
          HOLDFAST_DATA_DIR: join(folder, `files-${bus}`),
        }
        const started = await Promise.allSettled(Array.from({ length: REPLICAS }, () => startServe(env)))
        const replicas = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
        everyone.push(...replicas)
        undoStage.add(() => Promise.all(replicas.map((replica) => replica.kill())))
        for (const one of started) if (one.status === 'rejected') throw one.reason

        const [port, plainPort] = [await freePort(), await freePort()]
        const certificate = selfSigned('localhost')
        const nginx = await startTestNginx({
          port,
          http: await nginxSettings({ replicas: replicas.map((one) => one.port), port, plainPort }),
          certificate,
        })
        undoStage.add(() => nginx.stop())

        const clients = await startChild<ClientsOrder, ClientsAnswer>('../replicas/clients-process.ts', {})
        undoStage.add(() => clients.stop())
        const https = `https://localhost:${port}`
        const settings = {
          urls: { 'HTTP/2': https, 'HTTP/1.1': https, 'nginx defaults': `http://127.0.0.1:${plainPort}` },
          ca: certificate.cert,
          clients: await Promise.all(
            users.flatMap((userId) =>
              Array.from({ length: streamsPerUser }, async (_, n) => ({
                name: `${userId}-${n}`,
                way: WAYS[n % WAYS.length] ?? 'HTTP/2',
                userId,
                token: await signToken(userId),
              })),
            ),
          ),
        }
        await clients.ask({ kind: 'open', settings }, 'opened')
        return { sql, replicas, clients, close: undoStage.run }
      } catch (error) {
        await undoStage.run()
        throw error
      }
    }

    return {
      openStage,
      said: () => everyone.map((replica) => replica.said().slice(-SHOWN_LOG)).join('\n--- the next one\n'),
      close: undo.run,
    }
  } catch (error) {
    await undo.run()
    throw error
  }
}

/** What was begun is undone in the opposite order, once. */
function createUndo() {
  const steps: (() => Promise<unknown>)[] = []
  return {
    add: (step: () => Promise<unknown>) => void steps.push(step),
    async run() {
      for (const step of steps.splice(0).reverse()) await step()
    },
  }
}
