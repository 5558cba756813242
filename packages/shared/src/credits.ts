/**
 * What an entry of the ledger does to an account:
 *
 * - `grant`: given, onto the balance.
 * - `hold`: put aside for a task, off the balance.
 * - `capture`: what was held has ended: `amount` is spent, `released` is back on the balance.
 * - `refund`: what was held is back on the balance, because the task came to nothing.
 * - `adjust`: corrected later, onto the balance or off it; with a task, what was spent on it is given back.
 */
export type CreditKind = 'grant' | 'hold' | 'capture' | 'refund' | 'adjust'

/** One entry of a user's ledger. */
export interface CreditEntry {
  id: string
  kind: CreditKind
  /** Below zero only for `adjust`. */
  amount: number
  /** What came back of the hold with a `capture` that took less; 0 otherwise. */
  released: number
  taskId: string | null
  createdAt: string
}

/** `GET /v1/credits`. */
export interface Credits {
  /** False: this server charges nothing, and the rest is empty. */
  enabled: boolean
  /** What can be spent now; holds are already taken off. */
  balance: number
  held: number
  /** Task type → price. Null: it depends on the parameters. */
  prices: Record<string, number | null>
  /** Newest first. */
  ledger: CreditEntry[]
  nextCursor: string | null
}

/** An entry as administrators see it: `GET /v1/admin/credits/audit`. */
export interface CreditAuditEntry extends CreditEntry {
  userId: string
  balanceChange: number
  heldChange: number
  /** What a task cost beyond what could be taken. */
  shortfall: number
  reason: string
  /** Who did it: `system`, `app`, or the administrator's user id. */
  actor: string
  taskType: string | null
  /** Null also when the task's row is gone by now. */
  taskStatus: string | null
}
