import type { Config } from '../config.ts'
import { explainDatabaseError } from '../database/assert-ready.ts'
import { openPool } from '../database/connect.ts'
import { hostOf } from '../database/driver-url.ts'
import { migrate, rollback } from '../database/migrate.ts'
import { findTransactionPooler } from '../locks/find-transaction-pooler.ts'

export async function runMigrate(config: Config, options: { down?: number }): Promise<void> {
  if (!config.databaseUrl) throw new Error('DATABASE_URL is not set. Point it at the PostgreSQL to migrate.')
  const url = config.directUrl ?? config.databaseUrl
  const { sql, stopPreparing } = openPool(url, { maxConnections: 1, applicationName: 'holdfast migrate' })
  const log = (line: string) => console.info(line)
  try {
    if (await isPooled(url)) stopPreparing()
    const done =
      options.down === undefined ? await migrate(sql, { log }) : await rollback(sql, options.down, { log })
    if (done.length === 0)
      console.info(
        options.down === undefined ? 'The schema is up to date.' : 'There is nothing to take back.',
      )
  } finally {
    await sql.end({ timeout: 5 })
  }
}

async function isPooled(url: string): Promise<boolean> {
  try {
    return await findTransactionPooler(url)
  } catch (error) {
    throw explainDatabaseError(error, hostOf(url))
  }
}
