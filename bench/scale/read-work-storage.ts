import type postgres from 'postgres'

/** How much room `holdfast.work` takes, and what has been done to keep it so. */
export interface WorkStorage {
  tableBytes: number
  dueIndexBytes: number
  keyIndexBytes: number
  deadRows: number
  vacuums: number
  walBytes: number
  checkpoints: number
}

export async function readWorkStorage(sql: postgres.Sql): Promise<WorkStorage> {
  const [row] = await sql<WorkStorage[]>`
    select
      pg_relation_size('holdfast.work')::float8 as "tableBytes",
      pg_relation_size('holdfast.work_by_due')::float8 as "dueIndexBytes",
      pg_relation_size('holdfast.one_step_of_a_kind_per_task')::float8 as "keyIndexBytes",
      s.n_dead_tup::float8 as "deadRows", s.autovacuum_count::float8 as vacuums,
      (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as "walBytes",
      (select num_timed + num_requested from pg_stat_checkpointer)::float8 as checkpoints
    from pg_stat_user_tables s where s.relid = 'holdfast.work'::regclass
  `
  if (!row) throw new Error('PostgreSQL knows no table holdfast.work.')
  return row
}
