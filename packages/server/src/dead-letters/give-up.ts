import type { Sql, Tx } from '../database/connect.ts'
import { transaction } from '../database/transaction.ts'
import { type Fence, type Settlement, type SettleResult, settleInTransaction } from '../tasks/settle-task.ts'
import { type GivenUp, writeDeadLetter } from './write-dead-letter.ts'

/** Ends a task whose attempts are spent and leaves a dead letter, in one transaction. */
export function giveUp(
  sql: Sql,
  settlement: Settlement,
  letter: GivenUp,
  fence?: Fence,
): Promise<SettleResult> {
  return transaction(sql, (tx) => giveUpInTransaction(tx, settlement, letter, fence))
}

/** The same, as a part of a larger transaction. */
export async function giveUpInTransaction(
  tx: Tx,
  settlement: Settlement,
  letter: GivenUp,
  fence?: Fence,
): Promise<SettleResult> {
  const result = await settleInTransaction(tx, letter.taskId, settlement, fence)
  if (result.kind === 'settled') await writeDeadLetter(tx, letter)
  return result
}
