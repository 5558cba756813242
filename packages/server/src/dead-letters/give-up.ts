import type { Settle, SettleOptions } from '../tasks/create-settle.ts'
import type { Settlement, SettleResult } from '../tasks/settle-task.ts'
import { type GivenUp, writeDeadLetter } from './write-dead-letter.ts'

/** Ends a task whose attempts are spent and leaves a dead letter, in one transaction. The task says that it has one. */
export function giveUp(
  settle: Settle,
  settlement: Settlement,
  letter: GivenUp,
  options: Omit<SettleOptions, 'also'> = {},
): Promise<SettleResult> {
  const ended: Settlement =
    settlement.status === 'failed'
      ? { ...settlement, failure: { ...settlement.failure, deadLettered: true } }
      : settlement
  return settle(letter.taskId, ended, { ...options, also: (tx) => writeDeadLetter(tx, letter) })
}
