/**
 *     closed ──(failures in a row)──► open ──(pause over)──► half-open ──success──► closed
 *                                       ▲                        │
 *                                       ├────────failure─────────┤   the pause doubles
 *                                       └────learned nothing─────┘   the same pause again
 *
 * While a provider does not answer at all, asking it about every task only fills connections and logs: one probe at
 * a time finds out when it is back.
 */
export interface CircuitBreaker {
  /** How many calls may go now: all (`Infinity`), one as a probe, or none. */
  allowed(now: number): number
  /** When a probe may go; for closed circuits, now. */
  nextTryAt(): number
  probing(): void
  succeeded(): void
  failed(now: number): void
  /** A probe ended without telling whether the provider is back: it was told to wait, say, or never got to ask. */
  learnedNothing(now: number): void
  readonly state: 'closed' | 'open' | 'half-open'
}

const FAILURES_TO_OPEN = 20
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000

/** Opens after so many failures in a row. */
export function createCircuitBreaker(failuresToOpen = FAILURES_TO_OPEN): CircuitBreaker {
  let failures = 0
  let pauseMs = FIRST_PAUSE_MS
  let openUntil = 0
  let state: CircuitBreaker['state'] = 'closed'

  return {
    get state() {
      return state
    },
    allowed(now) {
      if (state === 'closed') return Number.POSITIVE_INFINITY
      return state === 'open' && now >= openUntil ? 1 : 0
    },
    nextTryAt: () => openUntil,
    probing() {
      if (state === 'open') state = 'half-open'
    },
    succeeded() {
      failures = 0
      pauseMs = FIRST_PAUSE_MS
      openUntil = 0
      state = 'closed'
    },
    failed(now) {
      failures += 1
      if (state === 'half-open') pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)
      else if (state === 'open' || failures < failuresToOpen) return
      state = 'open'
      openUntil = now + pauseMs
    },
    learnedNothing(now) {
      if (state !== 'half-open') return
      state = 'open'
      openUntil = now + pauseMs
    },
  }
}
