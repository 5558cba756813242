/** Time, passed in so that tests own it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Runs once after `ms`; the returned function calls it off. */
  after(ms: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** Resolves after `ms`, or at once when the signal aborts. Never rejects: callers look at the signal anyway. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const finish = () => {
      callOff()
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const callOff = clock.after(ms, finish)
    signal.addEventListener('abort', finish)
  })
}
