import type { Sql } from '../../database/connect.ts'
import { transaction } from '../../database/transaction.ts'
import { openAccount } from './open-account.ts'

export interface Balance {
  /** What can be spent now. */
  balance: number
  /** Put aside for tasks that have not ended. */
  held: number
}

/** What a user has. Whoever asks for the first time is given what new users are given. */
export async function readBalance(sql: Sql, userId: string, initial: number): Promise<Balance> {
  const read = () => sql<Balance[]>`
    select balance::float8, held::float8 from holdfast.credit_accounts where user_id = ${userId}
  `
  const [known] = await read()
  if (known) return known
  await transaction(sql, (tx) => openAccount(tx, userId, initial))
  const [opened] = await read()
  return opened ?? { balance: 0, held: 0 }
}
