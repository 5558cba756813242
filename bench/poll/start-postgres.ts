import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { startEmbeddedPostgres } from '../../packages/server/src/embedded-postgres/start-embedded-postgres.ts'

/**
 * Everything else is PostgreSQL's default: `fsync`, `synchronous_commit` and `full_page_writes` are on. Checkpoints
 * come only when the benchmark asks for one, so that none falls into one contender's time and not into another's.
 */
const SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  shared_buffers: '512MB',
  checkpoint_timeout: '1d',
  max_wal_size: '64GB',
}

export interface BenchPostgres {
  pid: number
  meterUrl: string
  /** The URL of a database by that name, made when missing. */
  databaseUrl(name: string): Promise<string>
  checkpoint(): Promise<void>
  stop(): Promise<void>
}

export async function startPostgres(): Promise<BenchPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-bench-poll-'))
  // Started as root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(dataDir, 0o755)
  const server = await startEmbeddedPostgres({ dataDir, settings: SETTINGS })
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  await sql`create extension pg_stat_statements`
  return {
    pid: server.pid,
    meterUrl: server.url,
    async databaseUrl(name) {
      const [known] = await sql`select from pg_database where datname = ${name}`
      if (!known) await sql`create database ${sql(name)}`
      return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
    },
    async checkpoint() {
      await sql`checkpoint`
    },
    async stop() {
      await sql.end({ timeout: 5 })
      await server.stop()
      for (const folder of new Set([server.home, dataDir])) {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}
