const BASE_MS = 1_000
const CAP_MS = 30_000

/**
 * Full jitter: anywhere between now and an exponentially growing limit, so that clients that failed together do
 * not come back together.
 */
export function backoff(attempt: number, random: () => number): number {
  return random() * Math.min(CAP_MS, BASE_MS * 2 ** attempt)
}
