import { setTimeout as sleep } from 'node:timers/promises'

export interface Gathered<T, R> {
  /** Does many at once. One answer per item, in their order; null for one that has to be done alone. */
  together(items: readonly T[]): Promise<readonly (R | null)[]>
  /** Does one by itself. */
  alone(item: T): Promise<R>
  /** Whether an error of `together` would meet each of the items as well: then they are not tried alone. */
  isHopeless?(error: unknown): boolean
  /** How many go together at most. @default 500 */
  maxItems?: number
  /** The least time from one call to the next, for what nobody waits for: fewer, larger calls. @default 0 */
  apartMs?: number
}

interface Waiting<T, R> {
  item: T
  resolve(answer: R | PromiseLike<R>): void
  reject(error: unknown): void
}

/**
 * Makes one call of what many callers ask for at the same time. A caller who comes alone is served at once. Those who
 * come while a call is under way go together with the next one, so a busy server makes few large calls without any
 * timer: waiting for more made it slower (measured with 5 ms).
 *
 * What cannot be done together, say because somebody holds a row of it, is done alone and delays nobody. The same if
 * the whole call fails, one after the other: one that cannot be done takes nobody with it.
 */
export function gather<T, R>({
  together,
  alone,
  isHopeless = () => false,
  maxItems = 500,
  apartMs = 0,
}: Gathered<T, R>): (item: T) => Promise<R> {
  let waiting: Waiting<T, R>[] = []
  let isBusy = false
  let nextAt = 0

  async function doTogether(batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const answers = await together(batch.map(({ item }) => item))
      for (const [index, { item, resolve }] of batch.entries()) resolve(answers[index] ?? alone(item))
    } catch (error) {
      if (batch.length > 1 && !isHopeless(error)) void doEachAlone(batch)
      else for (const { reject } of batch) reject(error)
    }
  }

  async function doEachAlone(batch: readonly Waiting<T, R>[]): Promise<void> {
    for (const { item, resolve, reject } of batch) await alone(item).then(resolve, reject)
  }

  async function doAll(): Promise<void> {
    while (waiting.length > 0) {
      const earlyMs = nextAt - performance.now()
      if (earlyMs > 0) await sleep(earlyMs)
      nextAt = performance.now() + apartMs
      const batch = waiting.slice(0, maxItems)
      waiting = waiting.slice(maxItems)
      await doTogether(batch)
    }
    isBusy = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (isBusy) return
      isBusy = true
      // Everything that this turn of the event loop brings goes along.
      setImmediate(() => void doAll())
    })
}
