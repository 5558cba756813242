import type { WriteContext } from '../../bus/create-notify.ts'
import type { Tx } from '../../database/connect.ts'
import { transaction } from '../../database/transaction.ts'
import { HoldfastError } from '../../errors.ts'
import { type LedgerRow, ledgerColumns } from './ledger-row.ts'

/**
 * Gives back what was spent on a task (F13), as an adjustment that names it: the hold itself has ended and stays as it
 * ended. Once per task, however often it is asked for. The ledger alone decides, so it works when the task's row is gone.
 */
export function giveBack(
  { sql, notify }: WriteContext,
  { taskId, reason, actor }: { taskId: string; reason: string; actor: string },
): Promise<{ entry: LedgerRow; given: boolean }> {
  return transaction(sql, async (tx) => {
    const [hold] = await tx<{ userId: string }[]>`
      select user_id as "userId" from holdfast.credit_ledger where task_id = ${taskId} and kind = 'hold'
    `
    if (!hold) {
      const [task] = await tx`select from holdfast.tasks where id = ${taskId}`
      throw task
        ? new HoldfastError('NOTHING_TO_REFUND', 'The task was free: no credits were held for it.')
        : new HoldfastError('NOT_FOUND', 'There is no such task.')
    }
    // Tasks come before accounts. The row may be gone: the ledger outlives it.
    await tx`select from holdfast.tasks where id = ${taskId} for no key update`
    // Whoever ends the hold, and whoever else gives it back, needs this row too.
    await tx`select from holdfast.credit_accounts where user_id = ${hold.userId} for no key update`
    const entries = await tx<LedgerRow[]>`
      select ${ledgerColumns(tx)} from holdfast.credit_ledger l where l.task_id = ${taskId}
    `
    const earlier = entries.find(({ kind }) => kind === 'adjust')
    if (earlier) return { entry: earlier, given: false }
    const spent = entries.find(({ kind }) => kind === 'capture')
    if (!spent || spent.amount === 0) {
      throw new HoldfastError(
        'NOTHING_TO_REFUND',
        spent || entries.some(({ kind }) => kind === 'refund')
          ? 'The credits of this task have been given back already.'
          : 'The credits of this task are held, not spent: it has not ended, or was cancelled while it was being sent.',
      )
    }
    const [entry] = await tx<LedgerRow[]>`
      insert into holdfast.credit_ledger as l (user_id, task_id, kind, amount, reason, actor)
      values (${hold.userId}, ${taskId}, 'adjust', ${spent.amount}, ${reason}, ${actor})
      returning ${ledgerColumns(tx)}
    `
    if (!entry) throw new Error('The adjustment left no entry.')
    // What the task shows of its cost has changed with it.
    tx.afterCommit(() => notify.changed(hold.userId))
    return { entry, given: true }
  })
}

/**
 * Gives back what was spent on a task one of whose files died at its source. Once per task, whichever file was first; nothing
 * where nothing was spent. The caller has locked the task's row.
 */
export async function giveBackLost(tx: Tx, taskId: string): Promise<void> {
  await tx`
    insert into holdfast.credit_ledger (user_id, task_id, kind, amount, reason)
    select user_id, task_id, 'adjust', amount, 'a file was lost at its source'
    from holdfast.credit_ledger where task_id = ${taskId} and kind = 'capture' and amount > 0
    on conflict on constraint one_entry_per_task_and_kind do nothing
  `
}
