import { setTimeout as sleep } from 'node:timers/promises'

export interface Gathered<T, R> {
  /** Does many at once. One answer per item, in their order; null for one that has to be done alone. */
  together(items: readonly T[]): Promise<readonly (R | null)[]>
  /** Does one by itself. */
  alone(item: T): Promise<R>
  /** Whether an error of `together` would meet each of the items as well: then none is tried alone. */
  isHopeless?(error: unknown): boolean
  /** How many go together at most. @default 500 */
  maxItems?: number
  /** The least time from one call to the next, for what nobody waits for: fewer, larger calls. @default 0 */
  apartMs?: number
}

/** Of a call that failed. */
const ALONE_AT_ONCE = 4

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
 * the whole call fails, a few at a time: one that cannot be done takes nobody with it. Also if it was the only one:
 * `alone` may know another way.
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
      for (const [index, { item, resolve }] of batch.entries()) {
        const answer = answers[index]
        resolve(answer === null ? alone(item) : (answer as R))
      }
    } catch (error) {
      if (isHopeless(error)) for (const { reject } of batch) reject(error)
      else doEachAlone(batch)
    }
  }

  /** A few at a time: one that takes long does not hold the others up, and not every connection goes to them. */
  function doEachAlone(batch: readonly Waiting<T, R>[]): void {
    const left = batch.values()
    const go = async () => {
      for (const { item, resolve, reject } of left) await alone(item).then(resolve, reject)
    }
    for (let count = 0; count < ALONE_AT_ONCE; count++) void go()
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
