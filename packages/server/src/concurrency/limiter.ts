/** Work that waits for a place. */
export interface Limiter<T> {
  /** Starts what there is room for at once; the rest waits, in the order in which it came. */
  add(works: readonly T[]): void
  /** Takes out what waits: it is not started any more. */
  takeWaiting(): readonly T[]
  readonly waiting: number
  readonly running: number
  /** Resolves when all that was added is over. */
  drained(): Promise<void>
}

/**
 * Runs work in the order in which it came, at most so much at a time. What waits is a row in a list: to have called
 * the provider already and wait there holds promises and handlers for each, which the garbage collector copies around.
 */
export function createLimiter<T>(atOnce: number, run: (work: T) => Promise<void>): Limiter<T> {
  let waiting: readonly T[] = []
  let next = 0
  const busy = new Set<Promise<void>>()

  async function runAll(): Promise<void> {
    while (next < waiting.length) await run(waiting[next++] as T)
  }

  return {
    get waiting() {
      return waiting.length - next
    },
    get running() {
      return busy.size
    },
    add(works) {
      waiting = next < waiting.length ? [...waiting.slice(next), ...works] : works
      next = 0
      while (next < waiting.length && busy.size < atOnce) {
        const runner: Promise<void> = runAll().finally(() => busy.delete(runner))
        busy.add(runner)
      }
    },
    takeWaiting() {
      const left = waiting.slice(next)
      waiting = []
      next = 0
      return left
    },
    async drained() {
      while (busy.size > 0) await Promise.all(busy)
    },
  }
}
