import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  BUCKET_EDGES,
  BUCKETS,
  bucketOf,
  type DurationHistogram,
  effectiveObservations,
  emptyHistogram,
  HALF_LIFE_OBSERVATIONS,
  histogramFromArray,
  histogramToArray,
  LONGEST_MS,
  mergeHistograms,
  type ObservedFinish,
  observe,
} from './duration-histogram.ts'

const finish: fc.Arbitrary<ObservedFinish> = fc
  .tuple(fc.integer({ min: 0, max: 9_000_000 }), fc.integer({ min: 1, max: 600_000 }), fc.option(fc.double()))
  .map(([afterMs, waited, reportedMs]) => ({ afterMs, byMs: afterMs + waited, reportedMs }))
const histogram: fc.Arbitrary<DurationHistogram> = fc
  .array(fc.double({ min: 0, max: 100, noNaN: true }), { minLength: BUCKETS, maxLength: BUCKETS })
  .map((weights) => ({ weights }))

function learn(finishes: readonly ObservedFinish[], halfLife?: number): DurationHistogram {
  return finishes.reduce((known, next) => observe(known, next, halfLife), emptyHistogram)
}

function weightBetween({ weights }: DurationHistogram, fromMs: number, toMs: number): number {
  return weights.reduce(
    (sum, weight, bucket) =>
      (BUCKET_EDGES[bucket + 1] ?? 0) > fromMs && (BUCKET_EDGES[bucket] ?? 0) < toMs ? sum + weight : sum,
    0,
  )
}

test('every duration lies in the bucket it is counted in', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.001, max: LONGEST_MS, noNaN: true }), (ms) => {
      const bucket = bucketOf(ms)
      expect(BUCKET_EDGES[bucket]).toBeLessThan(ms)
      expect(BUCKET_EDGES[bucket + 1]).toBeGreaterThanOrEqual(ms)
    }),
  )
  for (const [index, edge] of BUCKET_EDGES.entries()) expect(bucketOf(edge)).toBe(Math.max(0, index - 1))
})

test('each finish adds a weight of one and fades the others by the half-life', () => {
  fc.assert(
    fc.property(histogram, finish, fc.integer({ min: 1, max: 1_000 }), (before, next, halfLife) => {
      const expected = effectiveObservations(before) * 2 ** (-1 / halfLife) + 1
      expect(effectiveObservations(observe(before, next, halfLife))).toBeCloseTo(expected, 6)
    }),
  )
})

test('a finish between two polls adds weight only between them', () => {
  fc.assert(
    fc.property(histogram, finish, (before, next) => {
      const after = observe(before, next)
      const decay = 2 ** (-1 / HALF_LIFE_OBSERVATIONS)
      for (const [bucket, weight] of after.weights.entries()) {
        expect(weight).toBeGreaterThanOrEqual(0)
        const isOutside =
          (BUCKET_EDGES[bucket + 1] ?? 0) < Math.min(next.afterMs, LONGEST_MS) ||
          (BUCKET_EDGES[bucket] ?? 0) > next.byMs
        if (isOutside) expect(weight).toBeCloseTo((before.weights[bucket] ?? 0) * decay, 9)
      }
    }),
  )
})

test('a duration told by the vendor is taken when it fits what the polls saw', () => {
  const exact = observe(emptyHistogram, { afterMs: 30_000, byMs: 60_000, reportedMs: 41_000 })
  expect(exact.weights[bucketOf(41_000)]).toBe(1)
})

test.each([12_000, 75_000, Number.NaN, -1, null])(
  'a duration of %s told by the vendor is dropped when the polls saw it finish between 30 and 60 s',
  (reportedMs) => {
    const polled = { afterMs: 30_000, byMs: 60_000 }
    expect(observe(emptyHistogram, { ...polled, reportedMs })).toEqual(observe(emptyHistogram, polled))
  },
)

test.each([
  { afterMs: Number.NaN, byMs: 5 },
  { afterMs: 10, byMs: 5 },
  { afterMs: -10, byMs: 5 },
  { afterMs: 0, byMs: 0 },
  { afterMs: 0, byMs: Number.NaN },
])('a finish that makes no sense (%j) changes nothing', (nonsense) => {
  const before = learn([{ afterMs: 0, byMs: 1_000 }])
  expect(observe(before, nonsense)).toBe(before)
})

test('polls at shifting ages tell where in between tasks finish', () => {
  // All take 42 s. No poll hits it closer than 4 s, but the intervals have only its surroundings in common.
  const finishes = Array.from({ length: 200 }, (_, index) => ({
    afterMs: 20_000 + (index % 10) * 2_000,
    byMs: 46_000 + (index % 7) * 3_000,
  }))
  const known = learn(finishes)
  expect(weightBetween(known, 36_000, 48_000) / effectiveObservations(known)).toBeGreaterThan(0.75)
})

test('merging is the same in any order', () => {
  fc.assert(
    fc.property(histogram, histogram, histogram, (one, two, three) => {
      expect(mergeHistograms(one, two)).toEqual(mergeHistograms(two, one))
      const left = mergeHistograms(mergeHistograms(one, two), three)
      const right = mergeHistograms(one, mergeHistograms(two, three))
      for (const [bucket, weight] of left.weights.entries()) {
        expect(weight).toBeCloseTo(right.weights[bucket] ?? Number.NaN, 9)
      }
    }),
  )
})

test('a histogram survives the way to a row and back', () => {
  fc.assert(
    fc.property(histogram, (known) => {
      expect(histogramFromArray(JSON.parse(JSON.stringify(histogramToArray(known))))).toEqual(known)
    }),
  )
})

test.each([[null], [[]], [[1, 2, 3]], [new Array(BUCKETS).fill(-1)], [new Array(BUCKETS).fill(Number.NaN)]])(
  'a row that is not a histogram of ours counts as knowing nothing (%#)',
  (row) => {
    expect(histogramFromArray(row)).toEqual(emptyHistogram)
  },
)
