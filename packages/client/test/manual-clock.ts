import type { Clock } from '../src/environment/clock.ts'

export interface ManualClock extends Clock {
  /** Moves time on, running what falls due. */
  advance(ms: number): void
  /** How many timers wait. */
  readonly waiting: number
}

/** Time that moves only when told to, starting at the real time so that server times make sense. */
export function createManualClock(): ManualClock {
  let now = Date.now()
  const timers = new Set<{ at: number; run: () => void }>()
  return {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(ms) {
      const end = now + ms
      for (;;) {
        const due = [...timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0]
        if (!due) break
        timers.delete(due)
        now = Math.max(now, due.at)
        due.run()
      }
      now = end
    },
    get waiting() {
      return timers.size
    },
  }
}
