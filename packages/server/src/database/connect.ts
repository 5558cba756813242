import postgres from 'postgres'
import { arrayTypes } from './array-types.ts'
import { driverUrl, looksPooled } from './driver-url.ts'
import { replaceAfterLoss } from './replace-after-loss.ts'

export type Sql = postgres.Sql
export type Tx = postgres.TransactionSql
/** Either: a statement by itself, or one of a transaction. */
export type AnySql = postgres.ISql

export interface ConnectOptions {
  /** @default 10 */
  maxConnections?: number
  applicationName?: string
}

/** Opens a pool; no connection is made before the first query. */
export function connect(url: string, options: ConnectOptions = {}): Sql {
  return openPool(url, options).sql
}

export interface Pool {
  sql: Sql
  /** Behind a transaction pooler a prepared statement is in another session than the one that looks for it. */
  stopPreparing(): void
}

/** As `connect`, for a URL of which it is not known yet where it leads. */
export function openPool(url: string, options: ConnectOptions = {}): Pool {
  let prepare = !looksPooled(url)
  const sql = replaceAfterLoss((onclose) =>
    postgres(driverUrl(url), {
      max: options.maxConnections ?? 10,
      prepare,
      connect_timeout: 5,
      // Reconnecting after a restart of PostgreSQL must not take longer than its own start.
      backoff: (attempt) => Math.min(2, 0.1 * 2 ** attempt),
      onnotice: () => {},
      onclose,
      fetch_types: false,
      types: arrayTypes,
      connection: { application_name: options.applicationName ?? 'holdfast' },
    }),
  )
  return {
    sql,
    stopPreparing() {
      prepare = false
      // The driver looks at it with every query.
      sql.options.prepare = false
    },
  }
}
