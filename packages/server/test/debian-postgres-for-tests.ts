import type { TestProject } from 'vitest/node'
import { startDebianPostgres } from './debian-postgres.ts'
import { makeTemplate } from './postgres-for-tests.ts'

/** As `postgresForTests`, with Debian's PostgreSQL. */
export default async function debianPostgresForTests(project: TestProject): Promise<() => Promise<void>> {
  const server = await startDebianPostgres()
  try {
    await makeTemplate(server.url)
    project.provide('postgresUrl', server.url)
    project.provide('postgresKind', 'debian')
    return server.stop
  } catch (error) {
    await server.stop()
    throw error
  }
}
