import { explainDatabaseError } from '../database/assert-ready.ts'
import { hostOf } from '../database/driver-url.ts'
import { findTransactionPooler } from './find-transaction-pooler.ts'

export interface AssertSessionPoolingOptions {
  /** @default 10_000 */
  answerWithinMs?: number
  /** What to set instead, where it is for something else than the lock. */
  advice?: string
}

const LOCK_ADVICE = 'LOCK=redis with REDIS_URL, or LOCK=none to let all replicas work side by side'

/**
 * Behind a pooler in transaction mode (PgBouncer, Supavisor) two clients both "hold" an advisory lock, and LISTEN hears
 * nothing. Then this rejects and says what to set.
 */
export async function assertSessionPooling(
  url: string,
  { advice = LOCK_ADVICE, ...options }: AssertSessionPoolingOptions = {},
): Promise<void> {
  const isPooled = await findTransactionPooler(url, options).catch((error: unknown) => {
    throw explainDatabaseError(error, hostOf(url))
  })
  if (!isPooled) return
  throw new Error(
    `The database is reached through a pooler in transaction mode, which gives several replicas the same lock at once and lets none hear the others. Set DIRECT_URL to a direct connection or a pooler in session mode (on Supabase port 5432 instead of 6543, on Neon the host without "-pooler"), or ${advice}.`,
  )
}
