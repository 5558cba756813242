import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { HotStore } from '../hot/hot-store.ts'
import { createMemoryHot } from '../hot/memory-hot.ts'
import { createRedisHot } from '../hot/redis-hot.ts'

/** Progress is kept in Redis where there is one, so that all replicas show the same; else in memory. */
export function openHot({ redisUrl }: Config, log: Logger): HotStore {
  return redisUrl ? createRedisHot({ url: redisUrl, log }) : createMemoryHot()
}
