import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { startEmbeddedPostgres } from '../../packages/server/src/embedded-postgres/start-embedded-postgres.ts'

/**
 * As one would set up a server for this: memory for the hot tables, and checkpoints by time and not by the amount of
 * WAL. Everything else is PostgreSQL's default: `fsync`, `synchronous_commit` and `full_page_writes` are on, a
 * checkpoint comes every five minutes, autovacuum looks round once a minute.
 */
const SETTINGS = { shared_buffers: '1GB', max_wal_size: '8GB' }

export interface ScalePostgres {
  url: string
  pid: number
  checkpoint(): Promise<void>
  stop(): Promise<void>
}

export async function startScalePostgres(): Promise<ScalePostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-bench-scale-'))
  // Started as root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(dataDir, 0o755)
  const server = await startEmbeddedPostgres({ dataDir, settings: SETTINGS })
  return {
    url: server.url,
    pid: server.pid,
    async checkpoint() {
      const sql = postgres(server.url, { max: 1 })
      await sql`checkpoint`
      await sql.end()
    },
    async stop() {
      await server.stop()
      for (const folder of new Set([server.home, dataDir])) {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}
