import type { Sql, Tx } from './connect.ts'
import { errorCode, isTransient } from './database-errors.ts'

const ATTEMPTS = 5

/**
 * Runs `steps` in a transaction, again if PostgreSQL chose it as the victim of a deadlock. Locks are taken in the
 * order work → task → account → conversation everywhere, so this is the safety net and not the plan.
 */
export async function transaction<T>(sql: Sql, steps: (tx: Tx) => Promise<T>): Promise<T> {
  const work = (tx: Tx) => steps(tx).catch(unlessCutOff)
  for (let attempt = 1; ; attempt++) {
    try {
      return (await sql.begin(work)) as T
    } catch (error) {
      if (!isTransient(error) || attempt === ATTEMPTS) throw error
    }
  }
}

/**
 * After an error the driver sends a rollback. On a connection that is gone it writes that to nowhere, from a timer,
 * and the process dies of it (https://github.com/porsager/postgres/issues/1208). Such a transaction has been rolled
 * back already, so its end is not reported: the driver rejects it by itself when the connection is closed.
 */
function unlessCutOff(error: unknown): Promise<never> {
  if (isCutOff(error)) return new Promise(() => {})
  throw error
}

const CUT_OFF = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
])

function isCutOff(error: unknown): boolean {
  // PostgreSQL ends a connection with its last words, such as 57P01 when it is shut down.
  if (error instanceof Error && 'severity' in error) {
    return error.severity === 'FATAL' || error.severity === 'PANIC'
  }
  return CUT_OFF.has(errorCode(error) ?? '')
}
