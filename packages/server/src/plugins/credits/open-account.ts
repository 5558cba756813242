import type { Tx } from '../../database/connect.ts'

/** The key of the grant that every account begins with: it is written once. */
const INITIAL_KEY = 'initial'

/** The account of a user who is seen for the first time, with what new users are given. */
export async function openAccount(tx: Tx, userId: string, initial: number): Promise<void> {
  const opened = await tx`
    insert into holdfast.credit_accounts (user_id) values (${userId}) on conflict do nothing returning 1
  `
  if (opened.length === 0 || initial === 0) return
  await tx`
    insert into holdfast.credit_ledger (user_id, kind, amount, reason, key)
    values (${userId}, 'grant', ${initial}, 'new user', ${INITIAL_KEY})
  `
}
