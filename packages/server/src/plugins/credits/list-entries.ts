import type { CreditAuditEntry, CreditEntry } from '@holdfast/shared'
import type { Sql } from '../../database/connect.ts'
import { HoldfastError } from '../../errors.ts'
import { type LedgerRow, ledgerColumns, toCreditEntry } from './ledger-row.ts'

export interface Page {
  /** As returned by the page before: the id of its last entry. */
  cursor?: string | undefined
  limit: number
}

/** A user's ledger, newest first. */
export async function listEntries(
  sql: Sql,
  { userId, cursor, limit }: Page & { userId: string },
): Promise<{ ledger: CreditEntry[]; nextCursor: string | null }> {
  const rows = await sql<LedgerRow[]>`
    select ${ledgerColumns(sql)} from holdfast.credit_ledger l
    where l.user_id = ${userId}
      ${cursor === undefined ? sql`` : sql`and l.seq < (select c.seq from holdfast.credit_ledger c where c.id = ${cursor} and c.user_id = ${userId})`}
    order by l.seq desc limit ${limit + 1}
  `
  if (rows.length === 0) await refuseForeign(sql, { cursor, userId })
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
      ${cursor === undefined ? sql`` : sql`and l.seq < (select c.seq from holdfast.credit_ledger c where c.id = ${cursor})`}
    order by l.seq desc limit ${limit + 1}
  `
  if (rows.length === 0) await refuseForeign(sql, { cursor })
  const page = rows.slice(0, limit)
  const entries = page.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }))
  return { entries, nextCursor: nextOf(rows, page) }
}

function nextOf(found: { id: string }[], page: { id: string }[]): string | null {
  return found.length > page.length ? (page.at(-1)?.id ?? null) : null
}

/** An entry is never removed, so a cursor that names none was not given out by this list. */
async function refuseForeign(
  sql: Sql,
  { cursor, userId }: { cursor: string | undefined; userId?: string },
): Promise<void> {
  if (cursor === undefined) return
  const [entry] = await sql`
    select from holdfast.credit_ledger where id = ${cursor} ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}
  `
  if (entry) return
  throw new HoldfastError(
    'INVALID_REQUEST',
    'cursor: not one that this list gave out. Start again without it.',
  )
}
