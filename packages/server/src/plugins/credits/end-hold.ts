import type { Tx } from '../../database/connect.ts'
import type { SettledTask } from '../plugin.ts'
import type { Charge } from './decide-charge.ts'

/**
 * Spends what was held for a task, or gives it back, in the transaction that decides it. A capture ends the whole hold:
 * PostgreSQL gives back what it does not take. Once: a second end of the same hold is refused by the ledger.
 */
export async function endHold(
  tx: Tx,
  task: SettledTask,
  charge: Exclude<Charge, { kind: 'wait' }>,
): Promise<void> {
  const reason = task.failure?.code ?? task.status
  const isCapture = charge.kind === 'capture'
  const ended = await tx`
    insert into holdfast.credit_ledger (user_id, task_id, kind, amount, hold_amount, shortfall, reason)
    select user_id, task_id, ${charge.kind}, ${isCapture ? charge.amount : tx`amount`}, ${isCapture ? tx`amount` : null},
      ${isCapture ? charge.shortfall : 0}, ${reason}
    from holdfast.credit_ledger where task_id = ${task.id} and kind = 'hold'
    returning 1
  `
  if (ended.length === 0) {
    throw new Error(`Task ${task.id} says that credits were held for it, but the ledger has no hold.`)
  }
}

/** The same for many tasks, in one statement. */
export async function endHolds(
  tx: Tx,
  ends: readonly { task: SettledTask; charge: Exclude<Charge, { kind: 'wait' }> }[],
): Promise<void> {
  // Accounts are locked in the order of their users.
  const sorted = ends.toSorted((a, b) => (a.task.userId < b.task.userId ? -1 : 1))
  const ended = await tx`
    insert into holdfast.credit_ledger (user_id, task_id, kind, amount, hold_amount, shortfall, reason)
    select h.user_id, h.task_id, e.kind, coalesce(e.amount, h.amount), case when e.kind = 'capture' then h.amount end,
      e.shortfall, e.reason
    from unnest(
      ${sorted.map(({ task }) => task.id)}::uuid[], ${sorted.map(({ charge }) => charge.kind)}::text[],
      ${sorted.map(({ charge }) => (charge.kind === 'capture' ? charge.amount : null))}::bigint[],
      ${sorted.map(({ charge }) => (charge.kind === 'capture' ? charge.shortfall : 0))}::bigint[],
      ${sorted.map(({ task }) => task.failure?.code ?? task.status)}::text[]
    ) with ordinality as e (task_id, kind, amount, shortfall, reason, n)
      cross join lateral (
        select l.user_id, l.task_id, l.amount from holdfast.credit_ledger l
        where l.task_id = e.task_id and l.kind = 'hold' limit 1
      ) h
    order by e.n
    returning 1
  `
  if (ended.length < ends.length) {
    throw new Error('Tasks say that credits were held for them, but the ledger has no hold.')
  }
}

/** Locks the accounts that these tasks were paid from. Returns the tasks whose account somebody else holds. */
export async function lockAccounts(tx: Tx, taskIds: readonly string[]): Promise<Set<string>> {
  const held = await tx<{ id: string }[]>`
    with paid as materialized (
      select t.id, t.user_id from holdfast.tasks t where t.id = any(${taskIds as string[]}::uuid[]) and t.credits_held > 0
    ),
    free as materialized (
      select a.user_id from holdfast.credit_accounts a where a.user_id = any(array(select p.user_id from paid p))
      for no key update skip locked
    )
    select p.id from paid p where not exists (select from free f where f.user_id = p.user_id)
  `
  return new Set(held.map(({ id }) => id))
}

/** Whether what was held for a task is neither spent nor given back. The caller has locked the task's row. */
export async function isHoldOpen(tx: Tx, taskId: string): Promise<boolean> {
  const [open] = await tx`
    select from holdfast.credit_ledger h
    where h.task_id = ${taskId} and h.kind = 'hold' and not exists (
      select from holdfast.credit_ledger e where e.task_id = h.task_id and e.kind in ('capture', 'refund')
    )
  `
  return open !== undefined
}
