import postgres from 'postgres'
import type { BenchPostgres } from '../poll/start-postgres.ts'

/** Databases by name, made anew: empty, or as the template left them. */
export function openDatabases(server: BenchPostgres) {
  const sql = postgres(server.meterUrl, { max: 1, onnotice: () => {} })
  return {
    async fresh(name: string, template = 'template1'): Promise<string> {
      await sql`drop database if exists ${sql(name)} with (force)`
      await sql`create database ${sql(name)} template ${sql(template)}`
      return server.databaseUrl(name)
    },
    close: () => sql.end({ timeout: 5 }),
  }
}
