import type { Tx } from '../../database/connect.ts'
import type { SettledTask } from '../plugin.ts'
import type { HoldOutcome } from './hold-outcome.ts'

/**
 * Spends what was held for a task, or gives it back, in the transaction that ends it. Once: a second end of the same
 * hold is refused by the ledger.
 */
export async function endHold(tx: Tx, task: SettledTask, outcome: HoldOutcome): Promise<void> {
  const ended = await tx`
    insert into holdfast.credit_ledger (user_id, task_id, kind, amount, reason)
    select user_id, task_id, ${outcome}, amount, ${task.failure?.code ?? task.status}
    from holdfast.credit_ledger where task_id = ${task.id} and kind = 'hold'
    returning 1
  `
  if (ended.length === 0) {
    throw new Error(`Task ${task.id} says that credits were held for it, but the ledger has no hold.`)
  }
}
