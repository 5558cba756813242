import type { EngineOptions, ProviderLimits } from '@holdfast/server'
import type { Lane } from '@holdfast/shared'

export type LockKind = 'advisory' | 'redis' | 'none'

/** The one argument of `replica-process.ts`, as JSON. */
export interface ReplicaSettings {
  databaseUrl: string
  kieUrl: string
  lock: { kind: LockKind; url: string; ttlMs: number; retryMs: number }
  limits: Partial<ProviderLimits>
  /** How often a task is polled while somebody watches. */
  watchedPollMs: number
  engine: Partial<EngineOptions>
}

/** With this one creates with a priority. */
export const SERVICE_KEY = 'the-service-key-of-the-poller-lab-0123456789'

/** Users tell their lane by the beginning of their name, such as `vip_short:ada`. */
export function laneOfUser(userId: string): Lane {
  const lane = userId.split(':')[0]
  return lane === 'vip_short' || lane === 'vip_long' || lane === 'enterprise_exclusive'
    ? lane
    : 'free_default'
}
