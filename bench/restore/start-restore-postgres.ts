import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../packages/server/src/embedded-postgres/start-embedded-postgres.ts'

/** Only reading is measured: what makes writing safe is off, so that ten million rows are written in minutes. */
const SETTINGS = {
  shared_buffers: '1GB',
  maintenance_work_mem: '1GB',
  max_wal_size: '32GB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
}

export async function startRestorePostgres(): Promise<{ url: string; stop(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-bench-restore-'))
  // Started as root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(dataDir, 0o755)
  const server = await startEmbeddedPostgres({ dataDir, settings: SETTINGS })
  return {
    url: server.url,
    async stop() {
      await server.stop()
      for (const folder of new Set([server.home, dataDir])) await rm(folder, { recursive: true, force: true })
    },
  }
}
