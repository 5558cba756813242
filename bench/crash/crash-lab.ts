import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { migrate } from '../../packages/server/src/database/migrate.ts'
import { startEmbeddedPostgres } from '../../packages/server/src/embedded-postgres/start-embedded-postgres.ts'
import { startTestRedis } from '../../packages/server/test/redis-for-tests.ts'
import { instrumentSources, type Point } from './instrument-sources.ts'

interface CaseDatabase {
  sql: postgres.Sql
  url: string
  /** How many connections the servers have open. */
  serverConnections(): Promise<number>
  /** Keeps the locks that a statement takes until released. */
  hold(statement: string): Promise<{ waiting(): Promise<number>; release(): Promise<void> }>
  drop(): Promise<void>
}

/** What all cases share: one PostgreSQL, a migrated template, and the instrumented sources. */
export interface CrashLab {
  /** All files of the server, covered or not. */
  files: string[]
  points: Point[]
  sourcesFile: string
  newFile(name: string): string
  /** A Redis for all cases, started for the first that needs it. */
  redisUrl(): Promise<string>
  createDatabase(): Promise<CaseDatabase>
  close(): Promise<void>
}

const TEMPLATE = 'crash_template'
const quiet = { max: 1, onnotice: () => {} }

export async function openCrashLab(): Promise<CrashLab> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-crash-'))
  // As root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(folder, 0o755)
  const undo: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })]
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const instrumented = await instrumentSources()
    const sourcesFile = join(folder, 'sources.json')
    await writeFile(sourcesFile, JSON.stringify(instrumented.sources))

    const server = await startEmbeddedPostgres({
      dataDir: join(folder, 'database'),
      // Only server processes die here, never PostgreSQL, so its own durability is not what is being shown.
      settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
    })
    undo.push(
      () => rm(server.home, { recursive: true, force: true }),
      () => server.stop(),
    )
    const admin = postgres(server.url, quiet)
    undo.push(() => admin.end({ timeout: 1 }))
    const urlOf = (database: string) => Object.assign(new URL(server.url), { pathname: database }).href

    await admin`create database ${admin(TEMPLATE)}`
    const template = postgres(urlOf(TEMPLATE), quiet)
    await migrate(template)
    await template.end()
    await admin`alter database ${admin(TEMPLATE)} with is_template true allow_connections false`

    let redis: ReturnType<typeof startTestRedis> | undefined
    undo.push(async () => (await redis?.catch(() => undefined))?.stop())

    return {
      files: instrumented.files,
      points: instrumented.points,
      sourcesFile,
      newFile: (name) => join(folder, `${name}-${randomBytes(6).toString('hex')}`),
      async redisUrl() {
        redis ??= startTestRedis()
        return (await redis).url
      },
      async createDatabase() {
        const name = `crash_${randomBytes(6).toString('hex')}`
        await admin`create database ${admin(name)} template ${admin(TEMPLATE)}`
        const sql = postgres(urlOf(name), { ...quiet, connection: { application_name: 'crash-lab' } })
        return {
          sql,
          url: urlOf(name),
          async serverConnections() {
            const [row] = await admin<[{ count: number }]>`
              select count(*)::int from pg_stat_activity where datname = ${name} and application_name <> 'crash-lab'
            `
            return row.count
          },
          async hold(statement) {
            const holder = postgres(urlOf(name), { ...quiet, connection: { application_name: 'crash-lab' } })
            await holder`begin`.simple()
            await holder.unsafe(statement).simple()
            return {
              async waiting() {
                const [row] = await admin<[{ count: number }]>`
                  select count(*)::int from pg_stat_activity
                  -- The sweep that removes old keys wants the table too.
                  where datname = ${name} and wait_event_type = 'Lock' and query not like '%delete from%'
                `
                return row.count
              },
              release: () => holder.end({ timeout: 0 }),
            }
          },
          async drop() {
            await sql.end({ timeout: 1 })
            await admin`drop database if exists ${admin(name)} with (force)`
          },
        }
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
