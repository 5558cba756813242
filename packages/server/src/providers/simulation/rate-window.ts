export interface RateLimit {
  count: number
  windowMs: number
}

/** Lets `count` through per sliding window and rejects the rest; nothing is queued. */
export function createRateWindow({ count, windowMs }: RateLimit, now: () => number): () => boolean {
  const taken: number[] = []
  return () => {
    const from = now() - windowMs
    while (taken[0] !== undefined && taken[0] <= from) taken.shift()
    if (taken.length >= count) return false
    taken.push(now())
    return true
  }
}
