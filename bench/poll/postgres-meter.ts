import postgres from 'postgres'

export interface PostgresReading {
  walBytes: number
  statements: number
  checkpoints: number
}

export interface PostgresMeter {
  read(): Promise<PostgresReading>
  close(): Promise<void>
}

/**
 * What the server did for one database: statements by `pg_stat_statements` (every one that a client sent, `begin`
 * and `commit` included, but not the checks of deferred foreign keys that PostgreSQL makes for pg-boss), WAL by its insert position. It asks from a database of its own, so as not to count itself.
 */
export function openPostgresMeter(meterUrl: string, database: string): PostgresMeter {
  const sql = postgres(meterUrl, { max: 1, onnotice: () => {} })
  return {
    async read() {
      const [row] = await sql<PostgresReading[]>`
        select
          (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as "walBytes",
          coalesce((
            select sum(calls) from pg_stat_statements s
            where s.query not like 'SELECT % FROM ONLY % FOR KEY SHARE OF x' and s.dbid = (select oid from pg_database where datname = ${database})
          ), 0)::float8 as statements,
          (select num_timed + num_requested from pg_stat_checkpointer)::float8 as checkpoints
      `
      if (!row) throw new Error('PostgreSQL gave no figures.')
      return row
    },
    close: () => sql.end({ timeout: 5 }),
  }
}
