import type { Sql } from '../src/database/connect.ts'

/**
 * Lets time pass: everything that is written down happened that much earlier, and is due that much sooner. Past the
 * triggers, which would not let anybody change when a task ended.
 */
export async function moveClock(sql: Sql, ms: number): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    const columns = await tx<{ table: string; column: string }[]>`
      select c.table_name as table, c.column_name as column
      from information_schema.columns c
      join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
      where c.table_schema = 'holdfast' and t.table_type = 'BASE TABLE' and c.data_type = 'timestamp with time zone'
    `
    const byTable = Map.groupBy(columns, ({ table }) => table)
    for (const [table, ofTable] of byTable) {
      const changes = ofTable.map(({ column }) => `"${column}" = "${column}" - ${ms} * interval '1 ms'`)
      await tx.unsafe(`update holdfast."${table}" set ${changes.join(', ')}`)
    }
  })
}
