import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql, Tx } from './connect.ts'
import { errorCode } from './database-errors.ts'
import { retryDeadlock } from './retry-deadlock.ts'

/** The driver hears of a lost connection a moment after its queries do. */
const HEARD_WITHIN_MS = 1_000

/** A transaction as its steps see it. */
export interface Transaction extends Tx {
  /**
   * Has it told what was written, once that is committed and before the caller goes on. Notices run in their order. What
   * was asked for is forgotten if the transaction is rolled back, also if it is run again after a deadlock.
   */
  afterCommit(notice: () => void): void
}

/**
 * Runs `steps` in a transaction, again if PostgreSQL chose it as the victim of a deadlock. Locks are taken in the
 * order work → task → account → conversation everywhere, so this is the safety net and not the plan.
 *
 * `over` is aborted when the transaction has ended, by itself or with its connection.
 */
export function transaction<T>(
  sql: Sql,
  steps: (tx: Transaction, over: AbortSignal) => Promise<T>,
): Promise<T> {
  return retryDeadlock(async () => {
    const over = new AbortController()
    const notices: (() => void)[] = []
    const afterCommit = (notice: () => void) => void notices.push(notice)
    let result: T
    try {
      result = (await sql.begin((tx) =>
        steps(Object.assign(tx, { afterCommit }), over.signal).catch((error: unknown) =>
          unlessCutOff(error, over.signal),
        ),
      )) as T
    } finally {
      over.abort()
    }
    for (const notice of notices) tellCommitted(notice)
    return result
  })
}

/** What is committed stays so: a notice that throws fails nobody, and is seen all the same. */
function tellCommitted(notice: () => void): void {
  try {
    notice()
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}

/**
 * Throws the error on, except on a connection that is gone: then it never returns.
 *
 * After an error the driver sends a rollback, to a savepoint or of all. On a connection that is gone it writes that to
 * nowhere, from a timer, and the process dies of it (https://github.com/porsager/postgres/issues/1208). Such a
 * transaction has been rolled back already, so its end is not reported: the driver rejects it by itself when the
 * connection is closed. If it does not, then the error is not about this connection: steps may call other servers.
 */
export async function unlessCutOff(error: unknown, over: AbortSignal): Promise<never> {
  if (isCutOff(error)) {
    // Cut short by the end that is waited for.
    await sleep(HEARD_WITHIN_MS, undefined, { signal: over }).catch(() => {})
    if (over.aborted) return new Promise(() => {})
  }
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
