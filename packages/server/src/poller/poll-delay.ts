/** P2: polls 1–10 every 30 s, 11–30 every 60 s, then every 120 s. */
export function unwatchedPollMs(polls: number): number {
  if (polls <= 10) return 30_000
  if (polls <= 30) return 60_000
  return 120_000
}

export interface PollDelayInput {
  /** How often this task has been polled. */
  polls: number
  /** Whether somebody has a stream open on it. */
  watched: boolean
  /** The task type's interval while watched. */
  watchedPollMs: number
  /** The provider's minimum. */
  minPollMs: number
  /** In [0, 1). */
  random: number
}

/** When to ask again, spread by up to a fifth so that tasks submitted together do not stay together. */
export function pollDelay({ polls, watched, watchedPollMs, minPollMs, random }: PollDelayInput): number {
  const base = watched ? watchedPollMs : unwatchedPollMs(polls)
  return Math.round(Math.max(base, minPollMs) * (1 + random * 0.2))
}

/** Full jitter between nothing and a bound that doubles: 1 s, 2 s, 4 s … at most 60 s (Q6). Never below `floorMs`. */
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
