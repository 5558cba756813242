import { performance } from 'node:perf_hooks'
import { Redis, ReplyError } from 'ioredis'
import type { Logger } from 'pino'
import { outageLogOf } from '../outage-log.ts'
import { DEFAULT_HOT_TTL_MS, type HotStore, NOTHING_HOT } from './hot-store.ts'

export interface RedisHotOptions {
  url: string
  log: Pick<Logger, 'warn' | 'info'>
  /** How long the progress of a user's tasks is kept after the last report. @default 1 h */
  ttlMs?: number
  /** @default 'holdfast:hot:' */
  prefix?: string
}

/** One key per report; a user's may come several times. */
const RAISE = `
  for i = 1, #KEYS do
    local known = tonumber(redis.call('hget', KEYS[i], ARGV[2 * i])) or -1
    if tonumber(ARGV[2 * i + 1]) > known then redis.call('hset', KEYS[i], ARGV[2 * i], ARGV[2 * i + 1]) end
    redis.call('pexpire', KEYS[i], ARGV[1])
  end
`

/** No page waits longer than this for progress that it can do without. */
const ANSWER_WITHIN_MS = 500
/** While it is away it is not asked, so that nobody waits for the same silence again and again. */
const PAUSE_WHEN_AWAY_MS = 1_000

/** A hash per user in Redis, for all replicas. */
export function createRedisHot(options: RedisHotOptions): HotStore {
  const { url, log, ttlMs = DEFAULT_HOT_TTL_MS, prefix = 'holdfast:hot:' } = options
  const redis = new Redis(url, {
    connectionName: 'holdfast-hot',
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // Reads of many users at one moment go as one.
    enableAutoPipelining: true,
    commandTimeout: ANSWER_WITHIN_MS,
    connectTimeout: 5_000,
    keepAlive: 10_000,
    retryStrategy: (times) => Math.min(1_000, 50 * 2 ** Math.min(times, 10)) * (0.5 + Math.random() / 2),
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  })
  // Told by whoever asks; an error without a listener would end the process.
  redis.on('error', () => {})
  const outage = outageLogOf(log, 'Redis')
  let isAway = false
  let askAgainAt = 0
  let isClosed = false

  async function ask<T>(question: () => Promise<T>, otherwise: T): Promise<T> {
    // Before the first connection nothing is wrong yet.
    if (isClosed || redis.status === 'connecting' || redis.status === 'connect') return otherwise
    if (isAway && performance.now() < askAgainAt) return otherwise
    try {
      const answer = await question()
      outage.back()
      isAway = false
      return answer
    } catch (error) {
      // What the database knows is shown until then.
      if (!isClosed && !(error instanceof ReplyError)) outage.away(error)
      else if (!isClosed && !isAway) log.warn({ err: error }, 'Redis cannot keep progress')
      isAway = true
      askAgainAt = performance.now() + PAUSE_WHEN_AWAY_MS
      return otherwise
    }
  }

  return {
    isShared: true,
    async write(reports) {
      if (reports.length === 0) return
      const keys = reports.map(({ userId }) => prefix + userId)
      const values = reports.flatMap(({ taskId, progress }) => [taskId, progress])
      await ask(async () => void (await redis.eval(RAISE, keys.length, ...keys, ttlMs, ...values)), undefined)
    },
    async read(userId) {
      const known = await ask(() => redis.hgetall(prefix + userId), {})
      const entries = Object.entries(known).map(([taskId, text]) => [taskId, Number(text)] as const)
      const readable = entries.filter(([, progress]) => Number.isFinite(progress))
      return readable.length > 0 ? new Map(readable) : NOTHING_HOT
    },
    async forget(tasks) {
      await ask(async () => {
        await Promise.all(tasks.map(({ userId, taskId }) => redis.hdel(prefix + userId, taskId)))
      }, undefined)
    },
    async close() {
      isClosed = true
      redis.disconnect()
    },
  }
}
