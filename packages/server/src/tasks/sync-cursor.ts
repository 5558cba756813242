import type { PendingQuery, Row } from 'postgres'
import type { Sql } from '../database/connect.ts'

type Fragment = PendingQuery<Row[]>

/**
 * How far a caller has read. The transaction id counts only within one run of one PostgreSQL: a restored dump, a
 * point-in-time recovery and a promoted standby count from somewhere else. So the cursor names that run as well.
 */
export interface SyncCursor {
  /** The run of PostgreSQL that the transaction id belongs to. */
  run: string
  /** The oldest transaction that was still under way. */
  xid: string
  /** The hour since 1970 in which it was made. It is used only if the run is another one. */
  hour: string
}

const CURSOR = /^([0-9a-f]{1,16})\.(\d{1,19})\.(\d{1,7})$/

/** Null for what is none, as of an earlier release: its owner is told everything. */
export function parseCursor(text: string | null): SyncCursor | null {
  const [, run, xid, hour] = CURSOR.exec(text ?? '') ?? []
  return run !== undefined && xid !== undefined && hour !== undefined ? { run, xid, hour } : null
}

/**
 * Read in the statement that reads the rows, so that it can never be another server's. Both parts are in PostgreSQL's
 * memory and need no permission. A dump that is restored into the server it came from has another table.
 */
export function currentRun(sql: Sql) {
  return sql`to_hex(hashtextextended(
    extract(epoch from pg_postmaster_start_time())::text || '/' || 'holdfast.tasks'::regclass::oid::text, 0
  ))`
}

export function currentCursor(sql: Sql) {
  return sql`concat_ws('.',
    ${currentRun(sql)}, pg_snapshot_xmin(pg_current_snapshot())::text, floor(extract(epoch from now()) / 3600)::text
  )`
}

/**
 * What a cursor of this run has not seen. The upper bound leaves out rows that a restore brought along from a server
 * whose counter was ahead: they would come with every answer.
 *
 * @param row the name that the statement gives to the table
 */
export function changedSince(sql: Sql, xid: Fragment, row: Fragment = sql`t`) {
  return sql`${row}.changed_xid >= ${xid} and ${row}.changed_xid < pg_snapshot_xmax(pg_current_snapshot())`
}
