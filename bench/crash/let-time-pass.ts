import type postgres from 'postgres'

/**
 * Everything written down about a task happened that much earlier, and is due that much sooner. Past the triggers, which
 * would not let anybody change when a task ended.
 */
export async function letTimePass(sql: postgres.Sql, taskId: string, ms: number): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    const columns = await tx<{ table: string; column: string; of: string }[]>`
      select c.table_name as table, c.column_name as column, o.column_name as of
      from information_schema.columns c
        join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
        join information_schema.columns o on o.table_schema = c.table_schema and o.table_name = c.table_name
          and o.column_name = case when c.table_name = 'tasks' then 'id' else 'task_id' end
      where c.table_schema = 'holdfast' and t.table_type = 'BASE TABLE' and c.data_type = 'timestamp with time zone'
    `
    for (const [table, ofTable] of Map.groupBy(columns, (column) => column.table)) {
      const changes = ofTable.map(({ column }) => `"${column}" = "${column}" - ${ms} * interval '1 ms'`)
      await tx.unsafe(
        `update holdfast."${table}" set ${changes.join(', ')} where "${ofTable[0]?.of}" = '${taskId}'`,
      )
    }
  })
}
