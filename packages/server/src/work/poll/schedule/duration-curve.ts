import { BUCKET_EDGES, BUCKETS, bucketOf, type DurationHistogram, LONGEST_MS } from './duration-histogram.ts'
import { smoothWeights } from './smooth-weights.ts'

/** A distribution of durations, in the two forms that expected lag and poll counts are made of. */
export interface DurationCurve {
  /** The part of all tasks that has finished by this age. */
  finishedBy(ageMs: number): number
  /** The integral of `finishedBy` from 0 to this age. */
  finishedTime(ageMs: number): number
  /** Past this age there is nothing to go by. */
  knownUntilMs: number
}

/**
 * The sum over tasks that finish between two polls of how long they wait for the second, per task accepted.
 * It is the area between the curve and its height at the first poll.
 */
export function lagBetween(curve: DurationCurve, fromMs: number, toMs: number): number {
  const area = curve.finishedTime(toMs) - curve.finishedTime(fromMs)
  return Math.max(0, area - curve.finishedBy(fromMs) * (toMs - fromMs))
}

/**
 * @param doubt Weight, in observations, of the assumption that any duration is possible (the same for each
 *   log-scaled bucket). It keeps a plan from being certain of what a few hundred tasks happened to show.
 */
export function durationCurve(histogram: DurationHistogram, doubt: number): DurationCurve {
  const weights = smoothWeights(histogram.weights)
  const total = weights.reduce((sum, weight) => sum + weight, doubt)
  const finished = [0]
  const finishedTime = [0]
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const before = finished[bucket] ?? 0
    const part = total > 0 ? ((weights[bucket] ?? 0) + doubt / BUCKETS) / total : 0
    finished.push(before + part)
    finishedTime.push((finishedTime[bucket] ?? 0) + width(bucket) * (before + part / 2))
  }

  return {
    finishedBy(ageMs) {
      if (ageMs <= 0) return 0
      if (ageMs >= LONGEST_MS) return finished[BUCKETS] ?? 0
      const bucket = bucketOf(ageMs)
      const before = finished[bucket] ?? 0
      const part = (finished[bucket + 1] ?? before) - before
      return before + (part * (ageMs - (BUCKET_EDGES[bucket] ?? 0))) / width(bucket)
    },
    finishedTime(ageMs) {
      if (ageMs <= 0) return 0
      if (ageMs >= LONGEST_MS) {
        return (finishedTime[BUCKETS] ?? 0) + (finished[BUCKETS] ?? 0) * (ageMs - LONGEST_MS)
      }
      const bucket = bucketOf(ageMs)
      const inside = ageMs - (BUCKET_EDGES[bucket] ?? 0)
      const before = finished[bucket] ?? 0
      const part = (finished[bucket + 1] ?? before) - before
      return (finishedTime[bucket] ?? 0) + inside * before + (part * inside * inside) / (2 * width(bucket))
    },
    knownUntilMs: knownUntil(weights),
  }
}

function width(bucket: number): number {
  return (BUCKET_EDGES[bucket + 1] ?? LONGEST_MS) - (BUCKET_EDGES[bucket] ?? 0)
}

/** Weights fade but never vanish, so "seen" means by half an observation or more. */
function knownUntil(weights: readonly number[]): number {
  let beyond = 0
  for (let bucket = BUCKETS - 1; bucket >= 0; bucket -= 1) {
    beyond += weights[bucket] ?? 0
    if (beyond >= 0.5) return BUCKET_EDGES[bucket + 1] ?? LONGEST_MS
  }
  return 0
}
