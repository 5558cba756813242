import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { outageLogOf } from '../outage-log.ts'
import { keepLease } from './keep-lease.ts'
import type { Held, Lock } from './lock.ts'
import { untilHeld } from './until-held.ts'

export interface RedisLockOptions {
  url: string
  /** After this time without renewal the lock is free, whatever has become of its holder. @default 10_000 */
  ttlMs?: number
  /** How often those who wait look, give or take a half. @default 250 */
  retryMs?: number
  /** @default 'holdfast:lock:' */
  prefix?: string
  log: Pick<Logger, 'info' | 'warn'>
  now?: () => number
}

// The second line is for a grant whose answer was lost on the way: our own token must not keep us out.
const TAKE = `
  if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
  if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
  return 0
`
const RENEW = `
  if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
  return 0
`
const FREE = `
  if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
  return 0
`

/**
 * A key in Redis with a random token, a TTL and renewal. The holder counts the lock as lost a little before the TTL
 * runs out, so before anybody else can have it. Only a Redis that forgets (flushed, restarted without persistence,
 * failed over) can let a second one in before the first notices, at its next renewal: a third of the TTL at most.
 */
export function createRedisLock(options: RedisLockOptions): Lock {
  const { url, ttlMs = 10_000, retryMs = 250, prefix = 'holdfast:lock:', log } = options
  const now = options.now ?? (() => performance.now())
  const outage = outageLogOf(log, 'Redis')
  const closing = new AbortController()
  const held = new Set<{ lose(reason: Error): void; free(): Promise<void> }>()
  const waiting = new Set<Promise<unknown>>()

  const redis = new Redis(url, {
    connectionName: 'holdfast-lock',
    // What cannot be asked now is asked anew later: an old request must not be answered after its time.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(1_000, 50 * 2 ** Math.min(times, 10)) * (0.5 + Math.random() / 2),
    connectTimeout: Math.min(5_000, ttlMs),
    // A connection that swallows everything is replaced while there is still time to renew over the next.
    socketTimeout: ttlMs / 3,
    // After a failover the old primary refuses to write; the next connection leads to the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  })
  redis.on('error', away)
  redis.on('close', () => away(new Error('The connection to Redis was closed.')))

  function away(error: unknown): void {
    if (!closing.signal.aborted) outage.away(error)
  }

  async function run(script: string, name: string, token: string): Promise<boolean> {
    try {
      const answer = await redis.eval(script, 1, prefix + name, token, Math.ceil(ttlMs))
      outage.back()
      return answer === 1
    } catch (error) {
      // Before the first connection there is nothing wrong yet.
      if (redis.status !== 'connecting' && redis.status !== 'connect') away(error)
      throw error
    }
  }

  async function attempt(name: string, token: string): Promise<Held | null> {
    const sentAt = now()
    try {
      return (await run(TAKE, name, token)) ? hold(name, token, sentAt) : null
    } catch {
      // Logged as an outage. Should it have been granted all the same, the next attempt with this token finds it.
      return null
    }
  }

  function hold(name: string, token: string, grantedAt: number): Held {
    let freeing: Promise<void> | undefined

    function free(): Promise<void> {
      freeing ??= run(FREE, name, token)
        // It then frees itself when its TTL is over.
        .catch(() => {})
        .then(() => {
          held.delete(self)
        })
      return freeing
    }

    const lease = keepLease({
      ttlMs,
      retryMs,
      grantedAt,
      now,
      renew: () => run(RENEW, name, token),
      onLost(reason) {
        if (!closing.signal.aborted) log.warn({ reason: reason.message, lock: name }, 'lost a lock')
        void free()
      },
    })
    const self = { lose: lease.lose, free }
    held.add(self)
    return {
      get lost() {
        return lease.lost
      },
      release() {
        lease.stop()
        return free()
      },
    }
  }

  async function close(): Promise<void> {
    const reason = new Error('The lock has been closed.')
    closing.abort(reason)
    const last = [...held]
    for (const one of last) one.lose(reason)
    await Promise.all(last.map((one) => one.free()))
    // They still take back what they may have been granted.
    await Promise.allSettled(waiting)
    redis.disconnect()
  }

  async function wait(name: string, signal: AbortSignal): Promise<Held> {
    const token = randomUUID()
    try {
      return await untilHeld({
        attempt: () => attempt(name, token),
        retryMs,
        signal: AbortSignal.any([signal, closing.signal]),
      })
    } catch (error) {
      // An attempt whose answer was lost may have been granted.
      await run(FREE, name, token).catch(() => {})
      throw error
    }
  }

  let closed: Promise<void> | undefined
  return {
    async acquire(name, signal) {
      closing.signal.throwIfAborted()
      const acquired = wait(name, signal)
      waiting.add(acquired)
      try {
        return await acquired
      } finally {
        waiting.delete(acquired)
      }
    },
    isAway: () => outage.isAway,
    close() {
      closed ??= close()
      return closed
    },
  }
}
