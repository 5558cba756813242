interface Waiting {
  startedAt: number
  giveUp(): void
}

/**
 * Stops waiting for what takes too long. One timer looks after all that is under way: a timer for each of ten thousand
 * calls a second would cost more than the calls.
 *
 * @returns resolves as the call does, or with `otherwise()` when its time is up; the call itself goes on
 */
export function createTimeLimit(limitMs: number): <T>(call: Promise<T>, otherwise: () => T) => Promise<T> {
  const underWay = new Set<Waiting>()
  let timer: NodeJS.Timeout | undefined

  function look(): void {
    const since = performance.now() - limitMs
    // The oldest comes first.
    for (const waiting of underWay) {
      if (waiting.startedAt > since) break
      waiting.giveUp()
    }
    timer = undefined
    arm()
  }

  function arm(): void {
    if (timer !== undefined || underWay.size === 0) return
    timer = setTimeout(look, Math.min(1_000, limitMs))
    timer.unref()
  }

  return (call, otherwise) =>
    new Promise((resolve, reject) => {
      const waiting: Waiting = {
        startedAt: performance.now(),
        giveUp() {
          underWay.delete(waiting)
          resolve(otherwise())
        },
      }
      underWay.add(waiting)
      arm()
      call.then(
        (value) => {
          underWay.delete(waiting)
          resolve(value)
        },
        (error: unknown) => {
          underWay.delete(waiting)
          reject(error)
        },
      )
    })
}
