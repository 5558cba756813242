import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { createAdvisoryLock } from '../locks/advisory-lock.ts'
import { assertSessionPooling } from '../locks/assert-session-pooling.ts'
import type { Lock } from '../locks/lock.ts'
import { createNoLock } from '../locks/no-lock.ts'
import { createRedisLock } from '../locks/redis-lock.ts'

/** The lock that the settings ask for: by default Redis' where there is one, else PostgreSQL's. */
export async function openLock({ lock, databaseUrl }: Config, log: Logger): Promise<Lock> {
  const kind = lock.kind ?? (lock.redisUrl ? 'redis' : 'advisory')
  if (kind === 'none') return createNoLock()
  if (kind === 'redis') {
    if (!lock.redisUrl) throw new Error('LOCK=redis needs REDIS_URL, such as redis://localhost:6379.')
    return createRedisLock({ url: lock.redisUrl, log })
  }
  const url = lock.databaseUrl ?? databaseUrl
  if (!url) throw new Error('LOCK=advisory needs DATABASE_URL.')
  await assertSessionPooling(url)
  return createAdvisoryLock({ url, log })
}
