import type { CreditAuditEntry, CreditEntry } from '@holdfast/shared'
import type { Sql } from '../../database/connect.ts'
import { type LedgerRow, ledgerColumns, toCreditEntry } from './ledger-row.ts'

export interface Page {
  /** As returned by the page before. */
  cursor?: string | undefined
  limit: number
}

/** A user's ledger, newest first. Ids are UUIDv7 and therefore in order, so the last one is the cursor. */
export async function listEntries(
  sql: Sql,
  { userId, cursor, limit }: Page & { userId: string },
): Promise<{ ledger: CreditEntry[]; nextCursor: string | null }> {
  const rows = await sql<LedgerRow[]>`
    select ${ledgerColumns(sql)} from holdfast.credit_ledger l
    where l.user_id = ${userId} ${cursor === undefined ? sql`` : sql`and l.id < ${cursor}`}
    order by l.id desc limit ${limit + 1}
  `
  const page = rows.slice(0, limit)
  return { ledger: page.map(toCreditEntry), nextCursor: nextOf(rows, page) }
}

interface AuditRow extends Omit<CreditAuditEntry, 'createdAt'> {
  createdAt: Date
}

/** What happened to whose credits and why, newest first: of a user, of a task, or of all. */
export async function auditEntries(
  sql: Sql,
  { userId, taskId, cursor, limit }: Page & { userId?: string | undefined; taskId?: string | undefined },
): Promise<{ entries: CreditAuditEntry[]; nextCursor: string | null }> {
  const rows = await sql<AuditRow[]>`
    select ${ledgerColumns(sql)}, l.shortfall::float8, a.balance_change::float8 as "balanceChange",
      a.held_change::float8 as "heldChange", a.reason, a.actor, a.task_type as "taskType", a.task_status as "taskStatus"
    from holdfast.credit_ledger l join holdfast.credit_audit a on a.id = l.id
    where true
      ${userId === undefined ? sql`` : sql`and l.user_id = ${userId}`}
      ${taskId === undefined ? sql`` : sql`and l.task_id = ${taskId}`}
      ${cursor === undefined ? sql`` : sql`and l.id < ${cursor}`}
    order by l.id desc limit ${limit + 1}
  `
  const page = rows.slice(0, limit)
  const entries = page.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }))
  return { entries, nextCursor: nextOf(rows, page) }
}

function nextOf(found: { id: string }[], page: { id: string }[]): string | null {
  return found.length > page.length ? (page.at(-1)?.id ?? null) : null
}
