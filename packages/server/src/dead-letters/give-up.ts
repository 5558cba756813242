import type { Settle, SettleOptions } from '../tasks/create-settle.ts'
import type { Settlement, SettleResult } from '../tasks/settle-task.ts'
import { type GivenUp, writeDeadLetter } from './write-dead-letter.ts'

/** Ends a task whose attempts are spent and leaves a dead letter, in one transaction. */
export function giveUp(
  settle: Settle,
  settlement: Settlement,
  letter: GivenUp,
  options: Omit<SettleOptions, 'also'> = {},
): Promise<SettleResult> {
  return settle(letter.taskId, settlement, { ...options, also: (tx) => writeDeadLetter(tx, letter) })
}
