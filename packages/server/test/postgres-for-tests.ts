import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import type { TestProject } from 'vitest/node'
import { migrate } from '../src/database/migrate.ts'
import { startEmbeddedPostgres } from '../src/embedded-postgres/start-embedded-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The server of this test run; `createTestDatabase` makes databases in it. */
    postgresUrl: string
    /** Which PostgreSQL that is: the embedded one is the newest, Debian's the oldest that is promised to work. */
    postgresKind: 'embedded' | 'debian'
  }
}

/** The migrated database of which `createTestDatabase` makes copies. */
export const TEMPLATE = 'holdfast_template'

/** One real PostgreSQL for the whole run, with a migrated template from which every test file gets its own copy. */
export default async function postgresForTests(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-tests-'))
  // As root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(folder, 0o755)
  const remove = (path: string) => rm(path, { recursive: true, force: true })
  try {
    const server = await startEmbeddedPostgres({
      dataDir: folder,
      settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
    })
    const stop = async () => {
      try {
        await server.stop()
      } finally {
        await remove(server.home)
        await remove(folder)
      }
    }
    try {
      await makeTemplate(server.url)
      project.provide('postgresUrl', server.url)
      project.provide('postgresKind', 'embedded')
      return stop
    } catch (error) {
      await stop()
      throw error
    }
  } catch (error) {
    await remove(folder)
    throw error
  }
}

export async function makeTemplate(url: string): Promise<void> {
  const quiet = { max: 1, onnotice: () => {} }
  const admin = postgres(url, quiet)
  await admin`create database ${admin(TEMPLATE)}`
  const templateUrl = new URL(url)
  templateUrl.pathname = TEMPLATE
  const template = postgres(templateUrl.href, quiet)
  try {
    await migrate(template)
  } finally {
    await template.end()
  }
  // A template that someone is connected to cannot be copied, so nobody may connect.
  await admin`alter database ${admin(TEMPLATE)} with is_template true allow_connections false`
  await admin.end()
}
