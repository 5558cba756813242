import { smoothWeights } from './smooth-weights.ts'

/**
 * How long tasks of one provider and type took from acceptance to finish, as weights over log-scaled buckets:
 * bucket 0 is (0, 0.5 s], the last ends at 2 h, and each of those between is 7.8 % longer than the one before.
 * So a 30 s image is known to about 2 s and a 4 min video to about 17 s, in an array short enough for a row.
 */
export interface DurationHistogram {
  readonly weights: readonly number[]
}

/** What polling revealed about one finished task; ages count from acceptance. */
export interface ObservedFinish {
  /** Age at the last poll that found it unfinished; 0 if the first poll found it finished. */
  afterMs: number
  /** Age when it was found finished, by a poll or a webhook. */
  byMs: number
  /** The duration by the vendor's own clock, where it tells. */
  reportedMs?: number | null
}

export const BUCKETS = 128
const FIRST_EDGE_MS = 500
export const LONGEST_MS = 7_200_000
const RATIO = (LONGEST_MS / FIRST_EDGE_MS) ** (1 / (BUCKETS - 1))

/** `BUCKET_EDGES[b]` to `BUCKET_EDGES[b + 1]` is bucket `b`. */
export const BUCKET_EDGES: readonly number[] = [
  0,
  ...Array.from({ length: BUCKETS - 1 }, (_, index) => FIRST_EDGE_MS * RATIO ** index),
  LONGEST_MS,
]

/**
 * Weights halve every so many observations. Counted in observations and not in hours, because a clock makes a
 * quiet type forget faster than it learns, and needs a time in every row. At 100, three quarters of the weight is
 * younger than 200 observations, so a vendor that changes speed is known again by then, and all weights together
 * settle at 100 / ln 2 = 144.
 */
export const HALF_LIFE_OBSERVATIONS = 100

/**
 * Of a finish known only to lie between two polls, this part is spread evenly over that time, the rest in
 * proportion to what is known already, smoothed: the step of an EMS fit to interval-censored data (Silverman et
 * al. 1990). All evenly, and a hump blurs to the width of the intervals (simulated for two humps: mean lag 25 %
 * over the best possible instead of 9 %). All by proportion, and what is wrongly known never fades.
 */
const SPREAD_EVENLY = 0.05

/**
 * The same before the first poll, where a vendor that became faster hides: every task is found finished there,
 * whether it took a third of that time or all of it. At 0.2 a threefold speed-up is found within 150 tasks
 * instead of 250 (simulated at about two polls per task), for 1–2 % more lag while nothing changes.
 */
const SPREAD_EVENLY_BEFORE_FIRST_POLL = 0.2

export const emptyHistogram: DurationHistogram = { weights: new Array<number>(BUCKETS).fill(0) }

export function bucketOf(ms: number): number {
  if (ms <= FIRST_EDGE_MS) return 0
  const guess = Math.min(BUCKETS - 1, Math.ceil(Math.log(ms / FIRST_EDGE_MS) / Math.log(RATIO)))
  // The logarithm may be off by one ulp at an edge, and an edge belongs to the bucket that it ends.
  return ms <= (BUCKET_EDGES[guess] ?? 0) ? guess - 1 : guess
}

/** The sum of weights: how many observations the histogram is worth, older ones counting less. */
export function effectiveObservations({ weights }: DurationHistogram): number {
  return weights.reduce((sum, weight) => sum + weight, 0)
}

/**
 * Adds one finish with weight 1 after letting all others fade. A finish that makes no sense (not a number, found
 * before it was accepted) changes nothing: it comes from clocks of others.
 *
 * Do not observe tasks that were cancelled or given up: how long they would have taken is not known.
 */
export function observe(
  histogram: DurationHistogram,
  finish: ObservedFinish,
  halfLife: number = HALF_LIFE_OBSERVATIONS,
): DurationHistogram {
  if (!(finish.afterMs >= 0 && finish.byMs >= finish.afterMs && finish.byMs > 0)) return histogram
  const added = spread(histogram, finish)
  const decay = 2 ** (-1 / halfLife)
  return { weights: histogram.weights.map((weight, bucket) => weight * decay + (added[bucket] ?? 0)) }
}

/** Both together, as of two processes that each observed their own tasks. */
export function mergeHistograms(one: DurationHistogram, other: DurationHistogram): DurationHistogram {
  return { weights: one.weights.map((weight, bucket) => weight + (other.weights[bucket] ?? 0)) }
}

/** For a `real[]` column. */
export function histogramToArray({ weights }: DurationHistogram): number[] {
  return [...weights]
}

/**
 * An array that is not one of ours, such as of a version with other buckets, yields an empty histogram: what it
 * knew is learned again within some thirty tasks, while an error here would stop the polls.
 */
export function histogramFromArray(values: readonly number[] | null | undefined): DurationHistogram {
  if (values?.length !== BUCKETS) return emptyHistogram
  if (!values.every((value) => Number.isFinite(value) && value >= 0)) return emptyHistogram
  return { weights: [...values] }
}

/** Weight 1 over the buckets in which the task may have finished. */
function spread({ weights }: DurationHistogram, finish: ObservedFinish): number[] {
  const added = new Array<number>(BUCKETS).fill(0)
  const { reportedMs } = finish
  const byMs = Math.min(finish.byMs, LONGEST_MS)
  const afterMs = Math.min(finish.afterMs, byMs)
  // A vendor's figure from outside the time between the polls was taken on another clock, or leaves out the queue.
  const isCredible =
    typeof reportedMs === 'number' && reportedMs > finish.afterMs && reportedMs <= finish.byMs
  const first = bucketOf(isCredible ? reportedMs : afterMs)
  const last = bucketOf(isCredible ? reportedMs : byMs)
  if (first === last || byMs === afterMs) {
    added[last] = 1
    return added
  }

  const smooth = smoothWeights(weights)
  const even: number[] = []
  const known: number[] = []
  for (let bucket = first; bucket <= last; bucket += 1) {
    const from = BUCKET_EDGES[bucket] ?? 0
    const to = BUCKET_EDGES[bucket + 1] ?? LONGEST_MS
    const overlap = Math.max(0, Math.min(to, byMs) - Math.max(from, afterMs))
    even.push(overlap / (byMs - afterMs))
    known.push(((smooth[bucket] ?? 0) * overlap) / (to - from))
  }
  const knownSum = known.reduce((sum, weight) => sum + weight, 0)
  const doubted = finish.afterMs === 0 ? SPREAD_EVENLY_BEFORE_FIRST_POLL : SPREAD_EVENLY
  const evenPart = knownSum > 1e-9 ? doubted : 1
  for (const [index, share] of even.entries()) {
    const proportion = evenPart < 1 ? (known[index] ?? 0) / knownSum : 0
    added[first + index] = evenPart * share + (1 - evenPart) * proportion
  }
  return added
}
