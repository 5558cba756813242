import type { Price, TaskType, TaskTypes } from '../../tasks/task-types.ts'

/** What a task costs: a whole number, 0 or more. Anything else is a mistake in the settings, and nobody is charged for it. */
export function priceOf(name: string, type: TaskType | undefined, params: Record<string, unknown>): number {
  const price = type?.credits ?? 0
  return assertPrice(name, typeof price === 'function' ? price(params) : price)
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

function fixedPrice(price: Price): number | null {
  return typeof price === 'number' ? price : null
}

function assertPrice(name: string, price: number): number {
  if (!Number.isSafeInteger(price) || price < 0) {
    throw new Error(`The price of task type "${name}" is ${price}; it must be a whole number, 0 or more.`)
  }
  return price
}
