import type { CreditEntry, CreditKind } from '@holdfast/shared'
import type { Sql, Tx } from '../../database/connect.ts'

export interface LedgerRow {
  id: string
  userId: string
  kind: CreditKind
  amount: number
  released: number
  taskId: string | null
  createdAt: Date
}

/** The columns of `holdfast.credit_ledger l` that make a `LedgerRow`. */
export function ledgerColumns(sql: Sql | Tx) {
  return sql`l.id, l.user_id as "userId", l.kind, l.amount::float8,
    greatest(coalesce(l.hold_amount, l.amount) - l.amount, 0)::float8 as released, l.task_id as "taskId", l.created_at as "createdAt"`
}

export function toCreditEntry({ id, kind, amount, released, taskId, createdAt }: LedgerRow): CreditEntry {
  return { id, kind, amount, released, taskId, createdAt: createdAt.toISOString() }
}
