import { describe, expect, it } from 'vitest'
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.ts'

type State = CircuitBreaker['state']
type Event = 'succeeded' | 'failed' | 'probing' | 'nothing learned'

const NOW = 1_000_000

/** A breaker in each state; `open` since `NOW`, for a second. */
const inState: Record<State, () => CircuitBreaker> = {
  closed: createCircuitBreaker,
  open() {
    const breaker = createCircuitBreaker()
    for (let failure = 0; failure < 20; failure += 1) breaker.failed(NOW)
    return breaker
  },
  'half-open'() {
    const breaker = inState.open()
    breaker.probing()
    return breaker
  },
}

const happens: Record<Event, (breaker: CircuitBreaker) => void> = {
  succeeded: (breaker) => breaker.succeeded(),
  failed: (breaker) => breaker.failed(NOW),
  probing: (breaker) => breaker.probing(),
  'nothing learned': (breaker) => breaker.learnedNothing(NOW),
}

const AFTER: Record<State, Record<Event, State>> = {
  closed: { succeeded: 'closed', failed: 'closed', probing: 'closed', 'nothing learned': 'closed' },
  open: { succeeded: 'closed', failed: 'open', probing: 'half-open', 'nothing learned': 'open' },
  'half-open': { succeeded: 'closed', failed: 'open', probing: 'half-open', 'nothing learned': 'open' },
}

const table = Object.entries(AFTER).flatMap(([state, row]) =>
  Object.entries(row).map(([event, after]) => [state as State, event as Event, after] as const),
)

describe('createCircuitBreaker', () => {
  it.each(table)('%s, %s → %s', (state, event, after) => {
    const breaker = inState[state]()
    expect(breaker.state).toBe(state)
    happens[event](breaker)
    expect(breaker.state).toBe(after)
  })

  it('opens at the twentieth failure in a row, and not before', () => {
    const breaker = createCircuitBreaker()
    for (let failure = 1; failure < 20; failure += 1) breaker.failed(NOW)
    breaker.succeeded()
    for (let failure = 1; failure < 20; failure += 1) breaker.failed(NOW)
    expect(breaker.state).toBe('closed')
    expect(breaker.allowed(NOW)).toBe(Number.POSITIVE_INFINITY)
    breaker.failed(NOW)
    expect(breaker.state).toBe('open')
    expect(breaker.allowed(NOW)).toBe(0)
  })

  it('lets one probe go when the pause is over, and nobody else until it is back', () => {
    const breaker = inState.open()
    expect(breaker.nextTryAt()).toBe(NOW + 1_000)
    expect(breaker.allowed(NOW + 999)).toBe(0)
    expect(breaker.allowed(NOW + 1_000)).toBe(1)
    breaker.probing()
    expect(breaker.allowed(NOW + 60_000)).toBe(0)
  })

  it('doubles the pause with each probe that fails, up to half a minute', () => {
    const breaker = inState.open()
    const pauses: number[] = []
    for (let probe = 0; probe < 7; probe += 1) {
      breaker.probing()
      breaker.failed(NOW)
      pauses.push(breaker.nextTryAt() - NOW)
    }
    expect(pauses).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  })

  it('failures that come in late, of calls made before it opened, do not put the probe off', () => {
    const breaker = inState.open()
    breaker.failed(NOW + 900)
    expect(breaker.allowed(NOW + 1_000)).toBe(1)
  })

  it('a probe that told nothing is followed by another after the same pause', () => {
    const breaker = inState['half-open']()
    breaker.learnedNothing(NOW + 5_000)
    expect(breaker.allowed(NOW + 5_999)).toBe(0)
    expect(breaker.allowed(NOW + 6_000)).toBe(1)
  })

  it('starts afresh after a success', () => {
    const breaker = inState['half-open']()
    breaker.failed(NOW)
    breaker.probing()
    breaker.succeeded()
    expect(breaker.allowed(NOW)).toBe(Number.POSITIVE_INFINITY)
    expect(breaker.nextTryAt()).toBeLessThanOrEqual(NOW)
    for (let failure = 0; failure < 20; failure += 1) breaker.failed(NOW)
    expect(breaker.nextTryAt()).toBe(NOW + 1_000)
  })
})
