import postgres from 'postgres'
import { arrayTypes } from './array-types.ts'
import { replaceAfterLoss } from './replace-after-loss.ts'

export type Sql = postgres.Sql
export type Tx = postgres.TransactionSql

export interface ConnectOptions {
  /** @default 10 */
  maxConnections?: number
  applicationName?: string
}

/** Opens a pool; no connection is made before the first query. */
export function connect(url: string, options: ConnectOptions = {}): Sql {
  return replaceAfterLoss((onclose) =>
    postgres(url, {
      max: options.maxConnections ?? 10,
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
}
