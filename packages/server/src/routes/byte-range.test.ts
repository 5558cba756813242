import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readRange } from './byte-range.ts'

describe('readRange', () => {
  it.each<[string | undefined, ReturnType<typeof readRange>]>([
    [undefined, null],
    ['', null],
    ['bytes=0-99', { start: 0, end: 100 }],
    ['bytes=0-0', { start: 0, end: 1 }],
    ['bytes=500-', { start: 500, end: 1_000 }],
    ['bytes=-1', { start: 999, end: 1_000 }],
    ['bytes=-5000', { start: 0, end: 1_000 }],
    ['bytes=900-5000', { start: 900, end: 1_000 }],
    ['bytes=999-999', { start: 999, end: 1_000 }],
    ['Bytes= 1-2 ', { start: 1, end: 3 }],
    ['bytes=1000-', 'unsatisfiable'],
    ['bytes=1000-2000', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=99999999999999999999-', 'unsatisfiable'],
    ['bytes=5-2', null],
    ['bytes=-', null],
    ['bytes=0-1,3-4', null],
    ['bytes=a-b', null],
    ['bytes=1.5-2', null],
    ['lines=0-9', null],
  ])('reads %j of 1,000 bytes', (header, range) => {
    expect(readRange(header, 1_000)).toEqual(range)
  })

  it('never reaches outside of the bytes, whatever is asked for', () => {
    const numbers = fc.oneof(fc.nat(), fc.constant(''), fc.maxSafeNat())
    const headers = fc.oneof(
      fc.string(),
      fc.tuple(numbers, numbers).map(([a, b]) => `bytes=${a}-${b}`),
    )
    fc.assert(
      fc.property(headers, fc.nat({ max: 5_000 }), (header, bytes) => {
        const range = readRange(header, bytes)
        if (range === null || range === 'unsatisfiable') return
        expect(range.start).toBeGreaterThanOrEqual(0)
        expect(range.end).toBeGreaterThan(range.start)
        expect(range.end).toBeLessThanOrEqual(bytes)
      }),
    )
  })
})
