import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { startEmbeddedPostgres } from '../src/embedded-postgres/start-embedded-postgres.ts'
import { startDebianPostgres } from './debian-postgres.ts'

export interface OwnCluster {
  url: string
  stop(): Promise<void>
}

/** A PostgreSQL for one test file, of the kind that the run is about: roles belong to a whole cluster. */
export async function startOwnCluster(): Promise<OwnCluster> {
  if (inject('postgresKind') === 'debian') return startDebianPostgres()
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-cluster-'))
  // As root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(folder, 0o755)
  const server = await startEmbeddedPostgres({ dataDir: folder, settings: { fsync: 'off' } })
  return {
    url: server.url,
    async stop() {
      await server.stop()
      for (const path of [server.home, folder]) await rm(path, { recursive: true, force: true })
    },
  }
}
