/** Polls 1–10 every 30 s, 11–30 every 60 s, then every 120 s. */
export function unwatchedPollMs(polls: number): number {
  if (polls <= 10) return 30_000
  if (polls <= 30) return 60_000
  return 120_000
}

/** While somebody watches: the type's interval, or the provider's minimum, spread by up to a fifth. */
export function pollDelay({
  watchedPollMs,
  minPollMs,
  random,
}: {
  watchedPollMs: number
  minPollMs: number
  /** In [0, 1). */
  random: number
}): number {
  return Math.round(Math.max(watchedPollMs, minPollMs) * (1 + random * 0.2))
}

/** Full jitter between nothing and a bound that doubles: 1 s, 2 s, 4 s … at most 60 s. Never below `floorMs`. */
export function retryDelay({
  attempt,
  random,
  floorMs = 0,
}: {
  attempt: number
  random: number
  floorMs?: number
}): number {
  const bound = Math.min(60_000, 1_000 * 2 ** Math.min(attempt, 10))
  return Math.round(Math.max(floorMs, random * bound))
}
