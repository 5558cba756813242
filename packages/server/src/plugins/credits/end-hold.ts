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
