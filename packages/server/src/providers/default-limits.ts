import type { ProviderLimits } from './provider.ts'

/** Careful ones, for an API of which nothing is known. */
export const DEFAULT_LIMITS: ProviderLimits = {
  create: { perSecond: 1, burst: 5, inFlight: 10 },
  query: { perSecond: 10, inFlight: 20 },
  callTimeoutMs: 10_000,
  minPollMs: 3_000,
  notFoundGraceMs: 60_000,
}
