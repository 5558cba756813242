import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { createAdvisoryLock } from '../locks/advisory-lock.ts'
import { assertSessionPooling } from '../locks/assert-session-pooling.ts'
import type { Lock } from '../locks/lock.ts'
import { createNoLock } from '../locks/no-lock.ts'
import { createRedisLock } from '../locks/redis-lock.ts'

/** The lock that the settings ask for: PostgreSQL's by default, since without PostgreSQL there is no work anyway. */
export async function openLock(config: Config, log: Logger): Promise<Lock> {
  const { redisUrl } = config
  const lock = config.lock ?? 'advisory'
  if (lock === 'none') return createNoLock()
  if (lock === 'redis') {
    if (!redisUrl) throw new Error('LOCK=redis needs REDIS_URL, such as redis://localhost:6379.')
    return createRedisLock({ url: redisUrl, log })
  }
  const url = config.directUrl ?? config.databaseUrl
  if (!url) throw new Error('LOCK=advisory needs DATABASE_URL.')
  await assertSessionPooling(url)
  return createAdvisoryLock({ url, log })
}
