import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pollDelay, retryDelay, unwatchedPollMs } from './poll-delay.ts'

describe('unwatchedPollMs', () => {
  it.each([
    [1, 30_000],
    [10, 30_000],
    [11, 60_000],
    [30, 60_000],
    [31, 120_000],
    [1_000, 120_000],
  ])('poll %i comes after %i ms', (polls, ms) => {
    expect(unwatchedPollMs(polls)).toBe(ms)
  })
})

describe('pollDelay', () => {
  it('is the watched interval of the type', () => {
    expect(pollDelay({ watchedPollMs: 2_000, minPollMs: 500, random: 0 })).toBe(2_000)
  })

  it('is never below the provider’s minimum and spread by at most a fifth', () => {
    fc.assert(
      fc.property(
        fc.record({
          watchedPollMs: fc.nat(10_000),
          minPollMs: fc.nat(60_000),
          random: fc.double({ min: 0, max: 0.999, noNaN: true }),
        }),
        (given) => {
          const delay = pollDelay(given)
          const unspread = pollDelay({ ...given, random: 0 })
          expect(delay).toBeGreaterThanOrEqual(Math.max(given.minPollMs, unspread))
          expect(delay).toBeLessThanOrEqual(Math.ceil(unspread * 1.2))
        },
      ),
    )
  })
})

describe('retryDelay', () => {
  it('doubles its bound up to a minute', () => {
    const bounds = [1, 2, 3, 6, 50].map((attempt) => retryDelay({ attempt, random: 1 }))
    expect(bounds).toEqual([2_000, 4_000, 8_000, 60_000, 60_000])
  })

  it('takes any part of the bound, but not less than it was told to wait', () => {
    expect(retryDelay({ attempt: 3, random: 0 })).toBe(0)
    expect(retryDelay({ attempt: 3, random: 0.5 })).toBe(4_000)
    expect(retryDelay({ attempt: 3, random: 0.5, floorMs: 9_000 })).toBe(9_000)
  })
})
