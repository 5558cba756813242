import type { Tx } from '../../database/connect.ts'
import { HoldfastError } from '../../errors.ts'
import type { SubmittedTask } from '../plugin.ts'
import { openAccount } from './open-account.ts'

/**
 * Puts the price of a task aside, in the transaction that creates it (F8). Refuses what the user cannot pay for.
 * The account's row lock makes a user's requests take turns: two cannot both spend the last credits. It is the weaker
 * of the two, since every new entry locks its account's key, and the stronger would wait for those in a circle.
 */
export async function holdCredits(
  tx: Tx,
  task: Pick<SubmittedTask, 'id' | 'userId' | 'type'>,
  { price, initial }: { price: number; initial: number },
): Promise<void> {
  if (price === 0) return
  await openAccount(tx, task.userId, initial)
  const [account] = await tx<{ balance: number }[]>`
    select balance::float8 from holdfast.credit_accounts where user_id = ${task.userId} for no key update
  `
  const balance = account?.balance ?? 0
  if (balance < price) {
    throw new HoldfastError(
      'INSUFFICIENT_CREDITS',
      `"${task.type}" costs ${price} credits and the balance is ${balance}. Get more credits, or ask for something that costs less.`,
    )
  }
  // PostgreSQL applies it to the account and to what the task shows.
  await tx`
    insert into holdfast.credit_ledger (user_id, task_id, kind, amount, reason)
    values (${task.userId}, ${task.id}, 'hold', ${price}, ${task.type})
  `
}
