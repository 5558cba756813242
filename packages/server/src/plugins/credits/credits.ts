import type { CreditEntry, Credits as CreditsAnswer } from '@holdfast/shared'
import { creditGrantBody } from '@holdfast/shared/schemas'
import type { Sql } from '../../database/connect.ts'
import { HoldfastError } from '../../errors.ts'
import type { TaskTypes } from '../../tasks/task-types.ts'
import type { CreditsOptions } from './credits-options.ts'
import { grantCredits } from './grant-credits.ts'
import { toCreditEntry } from './ledger-row.ts'
import { listEntries, type Page } from './list-entries.ts'
import { listPrices } from './price-of.ts'
import { type Balance, readBalance } from './read-balance.ts'

/** Users' credits, for the app that Holdfast is a part of. */
export interface Credits {
  /**
   * Gives a user credits, once per user and key: use the id of what it is for, say of a payment.
   *
   * @example await holdfast.credits.grant(user.id, 500, { reason: 'invoice 17', key: payment.id })
   */
  grant(userId: string, amount: number, why: { reason: string; key: string }): Promise<CreditEntry>
  balance(userId: string): Promise<Balance>
}

/** What `GET /v1/credits` answers. */
export async function readCredits(
  sql: Sql,
  {
    userId,
    types,
    options,
    ...page
  }: Page & { userId: string; types: TaskTypes; options: false | CreditsOptions },
): Promise<CreditsAnswer> {
  if (options === false) {
    return { enabled: false, balance: 0, held: 0, prices: {}, ledger: [], nextCursor: null }
  }
  const balance = await readBalance(sql, userId, options.initial ?? 0)
  return {
    enabled: true,
    ...balance,
    prices: listPrices(types),
    ...(await listEntries(sql, { userId, ...page })),
  }
}

export function createCredits(sql: Sql, options: false | CreditsOptions): Credits {
  function initialGrant(): number {
    if (options === false)
      throw new Error('Credits are switched off: give createHoldfast({ credits: { … } }).')
    return options.initial ?? 0
  }

  return {
    async grant(userId, amount, { reason, key }) {
      const initial = initialGrant()
      const checked = creditGrantBody.safeParse({ userId, amount, reason })
      if (!checked.success || key === '' || key.length > 200) {
        throw new HoldfastError(
          'INVALID_REQUEST',
          'A grant needs a user, a whole number above 0, a reason, and a key of 1 to 200 characters.',
        )
      }
      const { entry } = await grantCredits(sql, {
        ...checked.data,
        actor: 'app',
        key: `app:${key}`,
        // An app may use the same key, such as `welcome`, for each of its users.
        keyIs: 'per user',
        initial,
      })
      return toCreditEntry(entry)
    },
    balance: async (userId) => readBalance(sql, userId, initialGrant()),
  }
}
