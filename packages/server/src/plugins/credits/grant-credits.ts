import type { Sql } from '../../database/connect.ts'
import { transaction } from '../../database/transaction.ts'
import { HoldfastError } from '../../errors.ts'
import { type LedgerRow, ledgerColumns } from './ledger-row.ts'
import { openAccount } from './open-account.ts'

export interface Grant {
  userId: string
  amount: number
  reason: string
  /** Who gives: `app`, or the administrator's user id. */
  actor: string
  /** The same key gives once. */
  key: string
  /** Whether each user can be given something by the same key, or only one of all. */
  keyIs: 'per user' | 'for all'
  /** What new users are given, if this is the first that is seen of them. */
  initial: number
}

/**
 * Gives a user credits, once per key: a repeated call finds the entry of the first, and one with the same key for
 * something else is refused. `given` says whether it was this call that gave them.
 */
export function grantCredits(sql: Sql, grant: Grant): Promise<{ entry: LedgerRow; given: boolean }> {
  const { userId, amount, reason, actor, key, keyIs } = grant
  return transaction(sql, async (tx) => {
    // Two calls with one key take turns, even if they name two users.
    await tx`select pg_advisory_xact_lock(hashtextextended(${`holdfast:grant:${key}`}, 0))`
    const [earlier] = await tx<LedgerRow[]>`
      select ${ledgerColumns(tx)} from holdfast.credit_ledger l
      where l.key = ${key} ${keyIs === 'for all' ? tx`` : tx`and l.user_id = ${userId}`}
    `
    if (earlier) {
      if (earlier.userId === userId && earlier.amount === amount) return { entry: earlier, given: false }
      throw new HoldfastError(
        'IDEMPOTENCY_KEY_REUSED',
        'This key was used for another grant. Use a new key for a new grant.',
      )
    }
    await openAccount(tx, userId, grant.initial)
    const [entry] = await tx<LedgerRow[]>`
      insert into holdfast.credit_ledger as l (user_id, kind, amount, reason, actor, key)
      values (${userId}, 'grant', ${amount}, ${reason}, ${actor}, ${key})
      returning ${ledgerColumns(tx)}
    `
    if (!entry) throw new Error('The grant left no entry.')
    return { entry, given: true }
  })
}
