import type { CreditSettings } from '../credit-settings.ts'
import type { TaskTypes } from '../tasks/task-types.ts'

/** The task types with what they cost, and the credits to pay them with; without settings, all is free. */
export function priceTypes(types: TaskTypes, settings: CreditSettings | null) {
  if (!settings) return { types }
  const { initial, prices } = settings
  if (!prices) {
    throw new Error('CREDITS_INITIAL buys nothing while nothing has a price: set CREDIT_PRICES as well.')
  }
  const unknown = Object.keys(prices).filter((name) => !(name in types))
  if (unknown.length > 0) {
    throw new Error(
      `CREDIT_PRICES names ${unknown.join(', ')}, which nobody here makes; there is ${Object.keys(types).join(', ')}.`,
    )
  }
  const priced = Object.entries(types).map(([name, type]) => [name, { ...type, credits: prices[name] ?? 0 }])
  return { types: Object.fromEntries(priced) as TaskTypes, credits: { initial } }
}
