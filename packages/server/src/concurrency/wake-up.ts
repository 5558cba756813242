import { performance } from 'node:perf_hooks'

/** Sleeps that can be cut short. */
export interface WakeUp {
  /**
   * Resolves after `ms`, which may be for ever, when woken, or when the signal aborts. A wake-up that came while nobody
   * slept counts once.
   */
  pause(ms: number, signal: AbortSignal): Promise<void>
  wake(): void
  /** Wakes after so long. Every time that is set is kept, to within a few milliseconds. */
  wakeIn(ms: number): void
  /** Forgets all times that were set. */
  clear(): void
}

/** Times that are closer to each other share one wake-up: what falls due in between is claimed together. */
const APART_MS = 20
/** The longest that a timer can be set for. */
const LONGEST_MS = 2 ** 31 - 1

export function createWakeUp(): WakeUp {
  const sleepers = new Set<() => void>()
  /** In steps of `APART_MS`. */
  const times = new Set<number>()
  let earliest = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let woken = false

  function wake(): void {
    if (sleepers.size === 0) woken = true
    for (const done of [...sleepers]) done()
  }

  function arm(): void {
    clearTimeout(timer)
    earliest = times.size === 0 ? Number.POSITIVE_INFINITY : Math.min(...times)
    if (times.size === 0) return
    timer = setTimeout(ring, Math.min(LONGEST_MS, Math.max(0, earliest * APART_MS - performance.now())))
    timer.unref()
  }

  function ring(): void {
    const now = performance.now() / APART_MS
    let isTime = false
    for (const time of times) if (time <= now && times.delete(time)) isTime = true
    arm()
    if (isTime) wake()
  }

  return {
    pause(ms, signal) {
      if (woken || signal.aborted) {
        woken = false
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        const napping = Number.isFinite(ms) ? setTimeout(done, Math.min(LONGEST_MS, ms)) : undefined
        function done() {
          clearTimeout(napping)
          signal.removeEventListener('abort', done)
          sleepers.delete(done)
          resolve()
        }
        signal.addEventListener('abort', done)
        sleepers.add(done)
      })
    },
    wake,
    wakeIn(ms) {
      const time = Math.ceil((performance.now() + ms) / APART_MS)
      if (times.has(time)) return
      times.add(time)
      if (time < earliest) arm()
    },
    clear() {
      clearTimeout(timer)
      times.clear()
      earliest = Number.POSITIVE_INFINITY
    },
  }
}
