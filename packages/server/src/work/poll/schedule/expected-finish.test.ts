import fc from 'fast-check'
import { expect, test } from 'vitest'
import { durationCurve } from './duration-curve.ts'
import { type DurationHistogram, emptyHistogram, observe } from './duration-histogram.ts'
import { expectedFinish } from './expected-finish.ts'

const learned = (durations: number[]): DurationHistogram =>
  durations.reduce((known, ms) => observe(known, { afterMs: ms - 1, byMs: ms }), emptyHistogram)

test('a new task is expected after the median of what is known', () => {
  const curve = durationCurve(learned(Array.from({ length: 99 }, (_, n) => 10_000 + n * 1_000)), 0)
  expect(expectedFinish(curve, 0)).toBeGreaterThan(50_000)
  expect(expectedFinish(curve, 0)).toBeLessThan(90_000)
})

test('of two humps, whoever is past the first is expected at the second', () => {
  const curve = durationCurve(learned(Array.from({ length: 200 }, (_, n) => (n % 4 ? 15_000 : 200_000))), 0)
  expect(expectedFinish(curve, 0)).toBeLessThan(20_000)
  expect(expectedFinish(curve, 60_000)).toBeGreaterThan(150_000)
})

test('never earlier than now, never later for being younger, however odd what is known', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 2, max: 7_000_000 }), { minLength: 1, maxLength: 60 }),
      fc.array(fc.integer({ min: 1, max: 9_000_000 }), { maxLength: 10 }),
      (durations, ages) => {
        const curve = durationCurve(learned(durations), 0)
        for (const age of ages) expect(expectedFinish(curve, age)).toBeGreaterThanOrEqual(age)
        const known = ages.filter((age) => curve.finishedBy(age) < 0.9).toSorted((a, b) => a - b)
        const expected = known.map((age) => expectedFinish(curve, age))
        for (const [n, at] of expected.entries())
          expect(at).toBeGreaterThanOrEqual((expected[n - 1] ?? 0) - 10)
      },
    ),
  )
})
