export interface MillisecondHistogram {
  observe(ms: number): void
  /** `part` in (0, 1]: the value that this part of all observations does not exceed. Zero without observations. */
  percentile(part: number): number
  readonly count: number
  readonly max: number
}

const LONGEST_MS = 600_000

/** A bucket per millisecond: exact enough to judge by, and a million observations take no more memory than one. */
export function createMillisecondHistogram(): MillisecondHistogram {
  const buckets = new Uint32Array(LONGEST_MS + 1)
  let count = 0
  let max = 0
  return {
    observe(ms) {
      // Rounded up: never better than it was.
      const bucket = Math.min(LONGEST_MS, Math.max(0, Math.ceil(ms)))
      buckets[bucket] = (buckets[bucket] ?? 0) + 1
      count += 1
      max = Math.max(max, bucket)
    },
    percentile(part) {
      let left = Math.ceil(count * part)
      for (let ms = 0; ms <= max; ms += 1) {
        left -= buckets[ms] ?? 0
        if (left <= 0) return ms
      }
      return max
    },
    get count() {
      return count
    },
    get max() {
      return max
    },
  }
}
