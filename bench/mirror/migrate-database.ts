import postgres from 'postgres'
import { migrate } from '../../packages/server/src/database/migrate.ts'

export async function migrateDatabase(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  await migrate(sql)
  await sql.end()
}
