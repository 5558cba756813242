import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { migrate } from '../../packages/server/src/database/migrate.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../packages/server/src/embedded-postgres/start-embedded-postgres.ts'
import { freePort } from '../../packages/server/test/free-port.ts'
import { startTestRedis, type TestRedis } from '../../packages/server/test/redis-for-tests.ts'
import type { Replica } from '../replicas/start-server.ts'
import { recordHistory } from './read-tasks.ts'
import type { LockKind, ReplicaSettings } from './replica-settings.ts'
import { type ScriptedKie, startProvider } from './start-provider.ts'
import { startReplica } from './start-replica.ts'

export interface StageOptions {
  lock: LockKind
  /** @default 3 */
  replicas?: number
  limits: ReplicaSettings['limits']
  /** @default 300 */
  watchedPollMs?: number
  /** What a claim is good for on top of the call limit. @default 300 */
  leaseMarginMs?: number
}

/** A database of its own, a provider and some replicas between them. */
export interface Stage {
  sql: postgres.Sql
  databaseUrl: string
  kie: ScriptedKie
  replicas: Replica[]
  /** Replicas that say they hold the lock for the provider's work. Those that do not answer hold nothing. */
  holders(): Promise<Replica[]>
  close(): Promise<void>
}

/** What all scenarios share: one PostgreSQL with a migrated template, and one Redis. */
export interface PollerLab {
  redis: TestRedis
  openStage(options: StageOptions): Promise<Stage>
  stopPostgres(): Promise<void>
  /** On the same port and data. */
  startPostgres(): Promise<void>
  /** The last words of the replicas of the latest stage, for reading after something went wrong. */
  said(): string
  close(): Promise<void>
}

/** How long a holder may be silent; short, so that a take-over can be waited for. */
export const LOCK_TTL_MS = 2_000
export const LOCK_RETRY_MS = 250

const SHOWN_LOG = 3_000
const TEMPLATE = 'poller_template'
const quiet = { max: 2, onnotice: () => {}, connection: { application_name: 'poller-lab' } }

export async function openPollerLab(): Promise<PollerLab> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-poller-'))
  // As root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(folder, 0o755)
  const undo: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })]
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const port = await freePort()
    const start = () =>
      startEmbeddedPostgres({
        dataDir: join(folder, 'database'),
        port,
        // It is stopped in good order here, and its machine never fails.
        settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
      })
    let server: EmbeddedPostgres | null = await start()
    const { url, home } = server
    undo.push(
      () => rm(home, { recursive: true, force: true }),
      async () => server?.stop(),
    )
    const redis = await startTestRedis()
    undo.push(() => redis.stop())
    const urlOf = (database: string) => Object.assign(new URL(url), { pathname: database }).href

    const asAdmin = async (work: (admin: postgres.Sql) => PromiseLike<unknown>) => {
      const admin = postgres(url, { ...quiet, max: 1 })
      try {
        await work(admin)
      } finally {
        await admin.end({ timeout: 1 })
      }
    }
    await asAdmin((admin) => admin`create database ${admin(TEMPLATE)}`)
    const template = postgres(urlOf(TEMPLATE), quiet)
    await migrate(template)
    await recordHistory(template)
    await template.end()

    let latest: Replica[] = []

    async function openStage(options: StageOptions): Promise<Stage> {
      const name = `poller_${randomBytes(6).toString('hex')}`
      const undoStage: (() => Promise<unknown>)[] = []
      const closeStage = async () => {
        for (const step of undoStage.splice(0).reverse()) await step()
      }
      try {
        await asAdmin((admin) => admin`create database ${admin(name)} template ${admin(TEMPLATE)}`)
        undoStage.push(() => asAdmin((admin) => admin`drop database if exists ${admin(name)} with (force)`))
        const databaseUrl = urlOf(name)
        const sql = postgres(databaseUrl, quiet)
        undoStage.push(() => sql.end({ timeout: 1 }))
        const kie = await startProvider()
        undoStage.push(() => kie.close())
        const settings: ReplicaSettings = {
          databaseUrl,
          kieUrl: kie.url,
          lock: {
            kind: options.lock,
            url: options.lock === 'redis' ? redis.url : databaseUrl,
            ttlMs: LOCK_TTL_MS,
            retryMs: LOCK_RETRY_MS,
          },
          limits: { minPollMs: 200, callTimeoutMs: 2_000, ...options.limits },
          watchedPollMs: options.watchedPollMs ?? 300,
          // Tasks are written straight into the tables here, so nobody gives the hint that a create gives.
          engine: { leaseMarginMs: options.leaseMarginMs ?? 300, idleMs: 250 },
        }
        const started = await Promise.allSettled(
          Array.from({ length: options.replicas ?? 3 }, () => startReplica(settings)),
        )
        const replicas = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
        latest = replicas
        undoStage.push(() => Promise.all(replicas.map((replica) => replica.kill())))
        for (const one of started) if (one.status === 'rejected') throw one.reason
        return {
          sql,
          databaseUrl,
          kie,
          replicas,
          async holders() {
            const held = await Promise.all(
              replicas.map((replica) =>
                replica.isAlive()
                  ? replica.metric('holdfast_lock_held', 'name="provider:kie"').catch(() => 0)
                  : 0,
              ),
            )
            return replicas.filter((_, index) => held[index] === 1)
          },
          close: closeStage,
        }
      } catch (error) {
        await closeStage()
        throw error
      }
    }

    return {
      redis,
      openStage,
      async stopPostgres() {
        await server?.stop()
        server = null
      },
      async startPostgres() {
        server ??= await start()
      },
      said: () => latest.map((replica) => replica.said().slice(-SHOWN_LOG)).join('\n--- the next one\n'),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
