/** Sleeps that can be cut short. */
export interface Wakeable {
  /** Resolves after `ms`, when woken, or when the signal aborts. A wake-up that came while nobody slept counts once. */
  pause(ms: number, signal: AbortSignal): Promise<void>
  wake(): void
}

export function createWakeable(): Wakeable {
  const sleepers = new Set<() => void>()
  let woken = false

  return {
    pause(ms, signal) {
      if (woken || signal.aborted) {
        woken = false
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        const timer = setTimeout(done, ms)
        function done() {
          clearTimeout(timer)
          signal.removeEventListener('abort', done)
          sleepers.delete(done)
          resolve()
        }
        signal.addEventListener('abort', done)
        sleepers.add(done)
      })
    },
    wake() {
      if (sleepers.size === 0) woken = true
      for (const done of [...sleepers]) done()
    },
  }
}
