/** What things cost with `holdfast serve` and `holdfast dev`, and what every user begins with. */
export interface CreditSettings {
  initial: number
  /** By task type; what is not named is free. Null: not said, which is enough where something else has prices. */
  prices: Record<string, number> | null
}

export const CREDIT_ENVIRONMENT: [name: string, meaning: string][] = [
  ['CREDIT_PRICES', 'what a task costs, by its type: image=4,video=20 (everything is free)'],
  ['CREDITS_INITIAL', 'what every user is given when first seen (0)'],
]

/** Null: nothing is charged. */
export function readCreditSettings(env: NodeJS.ProcessEnv): CreditSettings | null {
  const prices = env.CREDIT_PRICES?.trim()
  const initial = env.CREDITS_INITIAL?.trim()
  if (!prices && !initial) return null
  return {
    initial: amount('CREDITS_INITIAL', initial || '0'),
    prices: prices ? readPrices(prices) : null,
  }
}

function readPrices(prices: string): Record<string, number> {
  return Object.fromEntries(
    prices.split(',').map((entry) => {
      const [type = '', price = ''] = entry.split('=').map((part) => part.trim())
      if (type === '') throw new Error(`CREDIT_PRICES is "${prices}"; it must look like image=4,video=20.`)
      return [type, amount(`The price of ${type} in CREDIT_PRICES`, price)]
    }),
  )
}

function amount(name: string, given: string): number {
  const number = Number(given)
  if (given === '' || !Number.isSafeInteger(number) || number < 0) {
    throw new Error(`${name} is "${given}"; it must be a whole number, 0 or more.`)
  }
  return number
}
