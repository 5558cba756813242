const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Pauses between tries, the last one again and again: about three days in all. */
const PAUSES_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR]

export const MOST_DELIVERY_ATTEMPTS = 18

/** How long to wait after so many failed tries; up to a fifth more by chance, so that a receiver is not hit at once. */
export function deliveryPause(failures: number, random: number): number {
  const pause = PAUSES_MS[Math.min(failures, PAUSES_MS.length) - 1] ?? 5 * SECOND
  return Math.round(pause * (1 + random / 5))
}
