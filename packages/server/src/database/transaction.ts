import type { Sql, Tx } from './connect.ts'
import { isTransient } from './database-errors.ts'

const ATTEMPTS = 5

/**
 * Runs `work` in a transaction, again if PostgreSQL chose it as the victim of a deadlock. Locks are taken in the
 * order work → task → account → conversation everywhere, so this is the safety net and not the plan.
 */
export async function transaction<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await sql.begin(work)) as T
    } catch (error) {
      if (!isTransient(error) || attempt === ATTEMPTS) throw error
    }
  }
}
