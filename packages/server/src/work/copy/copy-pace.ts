const FIRST_LIMIT_MS = 30_000
const LONGEST_LIMIT_MS = 60 * 60_000

/** How long one try may take: 30 s at first, as most files need a fraction of that, then 2, 8, 32 and 60 minutes. */
export function copyLimit(attempts: number): number {
  return Math.min(LONGEST_LIMIT_MS, FIRST_LIMIT_MS * 4 ** Math.min(attempts, 10))
}

const FIRST_DELAY_MS = 2_000
const LONGEST_DELAY_MS = 5 * 60_000
/** So long before a source dies there is one more try. */
const MARGIN_MS = 30_000
const SHORTEST_DELAY_MS = 250

/**
 * How long until the next try: 2 s, 4 s, 8 s … 5 min, half of it by chance. Never past the death of the source
 * while it lives: then as long as leaves a margin before it, and within the margin a quarter of what is left.
 */
export function retryCopyDelay({
  attempts,
  random,
  leftMs,
}: {
  /** Tries in vain before this one. */
  attempts: number
  /** In [0, 1). */
  random: number
  /** How long the source is still good for; null if for ever. */
  leftMs: number | null
}): number {
  const longest = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempts, 20))
  const delay = (longest * (1 + random)) / 2
  if (leftMs === null || leftMs <= 0) return Math.round(delay)
  return Math.round(Math.min(delay, Math.max(leftMs - MARGIN_MS, leftMs / 4, SHORTEST_DELAY_MS)))
}
