import type { Sql } from '../src/database/connect.ts'

/** Every row of every table of ours as text, to see that nothing changed, or that something is nowhere. */
export async function dumpTables(sql: Sql): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'holdfast' order by 1
  `
  const dumps = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await sql<{ text: string }[]>`select t::text as text from ${sql(`holdfast.${name}`)} t`
      return rows.map(({ text }) => `${name} ${text}`).sort()
    }),
  )
  return dumps.flat()
}
