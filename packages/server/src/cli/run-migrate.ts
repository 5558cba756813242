import type { Config } from '../config.ts'
import { connect } from '../database/connect.ts'
import { migrate, rollback } from '../database/migrate.ts'

export async function runMigrate(config: Config, options: { down?: number }): Promise<void> {
  if (!config.databaseUrl) throw new Error('DATABASE_URL is not set. Point it at the PostgreSQL to migrate.')
  const sql = connect(config.databaseUrl, { maxConnections: 1, applicationName: 'holdfast migrate' })
  const log = (line: string) => console.info(line)
  try {
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
