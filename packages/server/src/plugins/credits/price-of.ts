import { HoldfastError } from '../../errors.ts'
import type { Usage } from '../../providers/provider.ts'
import type { Price, TaskType, TaskTypes } from '../../tasks/task-types.ts'

/**
 * What is put aside for a task: a whole number. A fixed price may be 0. A price that follows from the parameters is above
 * 0 unless the type allows less: what users send must not make a task free by accident, so it is their request that is
 * refused.
 */
export function priceOf(name: string, type: TaskType | undefined, params: Record<string, unknown>): number {
  const price = type?.credits ?? 0
  if (typeof price === 'number') return assertPrice(name, price)
  const computed = compute(price, params)
  if (isPrice(computed) && (computed > 0 || type?.allowFree)) return computed
  throw new HoldfastError(
    'INVALID_PARAMS',
    `No price can be computed for "${name}" with these params. Check the numbers in them.`,
  )
}

/** What a finished task really cost, by what the provider says it took. */
export type RealPrice =
  /** Nothing else is known than what was put aside. */
  | { kind: 'as-held' }
  | { kind: 'known'; amount: number }
  /** The type's price threw, or made no sense: a mistake in the settings. */
  | { kind: 'broken'; reason: string }

export function realPriceOf(
  type: TaskType | undefined,
  params: Record<string, unknown>,
  usage: Usage | null,
): RealPrice {
  const price = type?.credits
  if (typeof price !== 'function' || usage === null) return { kind: 'as-held' }
  try {
    const amount = price(params, usage)
    return isPrice(amount) ? { kind: 'known', amount } : { kind: 'broken', reason: `it is ${String(amount)}` }
  } catch (error) {
    return { kind: 'broken', reason: `it threw ${error instanceof Error ? error.message : 'something'}` }
  }
}

/** Task type → price, for people to see. Null: it depends on the parameters. */
export function listPrices(types: TaskTypes): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(types).map(([name, { credits = 0 }]) => [name, fixedPrice(credits)]),
  )
}

/** Refuses settings that no task could be charged by. */
export function assertPrices(types: TaskTypes): void {
  for (const [name, { credits = 0 }] of Object.entries(types)) {
    if (typeof credits === 'number') assertPrice(name, credits)
  }
}

function compute(price: Exclude<Price, number>, params: Record<string, unknown>): unknown {
  try {
    return price(params)
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    // It is asked with whatever users send; what it cannot take has no price.
    return undefined
  }
}

function fixedPrice(price: Price): number | null {
  return typeof price === 'number' ? price : null
}

function isPrice(price: unknown): price is number {
  return typeof price === 'number' && Number.isSafeInteger(price) && price >= 0
}

function assertPrice(name: string, price: number): number {
  if (!isPrice(price)) {
    throw new Error(`The price of task type "${name}" is ${price}; it must be a whole number, 0 or more.`)
  }
  return price
}
