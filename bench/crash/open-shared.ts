import {
  createAdvisoryLock,
  createRedisHot,
  createRedisLock,
  createReplicatedBus,
  type HoldfastConfig,
  postgresChannel,
  redisChannel,
} from '@holdfast/server'
import postgres from 'postgres'
import type { ServerProcessSettings } from './orders.ts'

type Log = NonNullable<HoldfastConfig['log']>

/** A lock that nobody renews is free after this long; a dead one of PostgreSQL's is at once. */
const LOCK_TTL_MS = 1_000

/** What replicas would share; nothing for a server that runs by itself. Names are the case's own: it has no other. */
export function openShared(
  { shared, databaseUrl, redisUrl = '' }: ServerProcessSettings,
  log: Log,
): Pick<HoldfastConfig, 'lock' | 'bus' | 'hot'> {
  if (!shared) return {}
  const timing = { ttlMs: LOCK_TTL_MS, retryMs: 100, log }
  if (shared === 'postgres') {
    const speaker = postgres(databaseUrl, { max: 1, onnotice: () => {} })
    return {
      lock: createAdvisoryLock({ url: databaseUrl, ...timing }),
      bus: createReplicatedBus({ open: postgresChannel({ sql: speaker, url: databaseUrl }), log }),
    }
  }
  const own = `${new URL(databaseUrl).pathname}:`
  return {
    lock: createRedisLock({ url: redisUrl, prefix: `lock${own}`, ...timing }),
    bus: createReplicatedBus({ open: redisChannel({ url: redisUrl, name: `bus${own}` }), log }),
    hot: createRedisHot({ url: redisUrl, prefix: `hot${own}`, log }),
  }
}
