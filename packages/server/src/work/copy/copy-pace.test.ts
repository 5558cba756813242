import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { copyLimit, retryCopyDelay } from './copy-pace.ts'

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe('the time limit of a try', () => {
  it('is 30 s at first and grows, so that a file of gigabytes comes through in the end', () => {
    expect([0, 1, 2, 3, 4, 5, 30_000].map((attempts) => copyLimit(attempts) / 1_000)).toEqual([
      30, 120, 480, 1_920, 3_600, 3_600, 3_600,
    ])
  })
})

describe('the wait before the next try', () => {
  it('grows from seconds to five minutes, half of it by chance', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30_000 }), random, (attempts, luck) => {
        const delay = retryCopyDelay({ attempts, random: luck, leftMs: null })
        const longest = Math.min(300_000, 2_000 * 2 ** attempts)
        expect(delay).toBeGreaterThanOrEqual(Math.floor(longest / 2))
        expect(delay).toBeLessThanOrEqual(longest)
      }),
    )
  })

  it('never goes past the death of the source, and leaves half a minute before it where it can', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30_000 }),
        random,
        fc.integer({ min: 500, max: 3_600_000 }),
        (attempts, luck, leftMs) => {
          const delay = retryCopyDelay({ attempts, random: luck, leftMs })
          expect(delay).toBeLessThan(leftMs)
          if (leftMs > 60_000) expect(leftMs - delay).toBeGreaterThanOrEqual(30_000)
          expect(delay).toBeGreaterThanOrEqual(125)
        },
      ),
    )
  })

  it('is the usual one again when the source should be dead but is not', () => {
    expect(retryCopyDelay({ attempts: 20, random: 0, leftMs: 0 })).toBe(150_000)
    expect(retryCopyDelay({ attempts: 20, random: 0, leftMs: -1 })).toBe(150_000)
  })
})
