import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { describeLock, waitInVain } from '../../test/lock-conformance.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { startTestRedis, type TestRedis } from '../../test/redis-for-tests.ts'
import type { Lock } from './lock.ts'
import { createRedisLock, type RedisLockOptions } from './redis-lock.ts'

const { signal: never } = new AbortController()

describeLock('Redis lock', async () => {
  const server = await startTestRedis()
  const admin = new Redis(server.url)
  return {
    kind: 'redis',
    url: server.url,
    create: (options) => createRedisLock({ ...options, log: createMemoryLog().log }),
    forget: async () => void (await admin.flushall()),
    freeAfterDeathMs: (ttlMs) => ttlMs + 1_000,
    async stop() {
      admin.disconnect()
      await server.stop()
    },
  }
})

describe('a Redis lock', () => {
  let server: TestRedis
  let admin: Redis
  const locks: Lock[] = []

  beforeAll(async () => {
    server = await startTestRedis()
    admin = new Redis(server.url)
    admin.on('error', () => {})
  })
  afterEach(() => Promise.all(locks.splice(0).map((lock) => lock.close())))
  afterAll(async () => {
    admin.disconnect()
    await server.stop()
  })

  function create(options: Partial<RedisLockOptions> = {}): Lock {
    const lock = createRedisLock({
      url: server.url,
      ttlMs: 1_200,
      retryMs: 25,
      log: createMemoryLog().log,
      ...options,
    })
    locks.push(lock)
    return lock
  }

  it('is a key with a random token and a TTL, gone after the release', async () => {
    const held = await create().acquire('key', never)
    const token = await admin.get('holdfast:lock:key')
    expect(token).toMatch(/^[0-9a-f-]{36}$/)
    expect(await admin.pttl('holdfast:lock:key')).toBeGreaterThan(0)
    await held.release()
    expect(await admin.exists('holdfast:lock:key')).toBe(0)
    await (await create().acquire('key', never)).release()
    expect(await admin.get('holdfast:lock:key')).not.toBe(token)
  })

  it('is lost when another one owns the key, and leaves it alone', async () => {
    const held = await create().acquire('stolen', never)
    await admin.set('holdfast:lock:stolen', 'somebody else')
    await expect.poll(() => held.lost.aborted).toBe(true)
    await held.release()
    expect(await admin.get('holdfast:lock:stolen')).toBe('somebody else')
  })

  it('is lost before its TTL is over when Redis says nothing any more', async () => {
    const ttlMs = 1_200
    const lock = create({ ttlMs })
    const held = await lock.acquire('hung', never)
    process.kill(server.pid(), 'SIGSTOP')
    const began = performance.now()
    try {
      await expect.poll(() => held.lost.aborted, { interval: 5, timeout: 5_000 }).toBe(true)
      expect(performance.now() - began).toBeLessThan(ttlMs)
    } finally {
      process.kill(server.pid(), 'SIGCONT')
    }
    await held.release()
    await lock.acquire('hung', never)
  })

  it('survives a restart of Redis: lost, had again, one line in the log for each (P5)', async () => {
    const { log, lines } = createMemoryLog()
    const lock = create({ log })
    const said = (text: string) => lines.filter((line) => line.includes(text)).length
    const held = await lock.acquire('restarted', never)
    await server.kill()
    await expect.poll(() => held.lost.aborted, { timeout: 3_000 }).toBe(true)
    const again = lock.acquire('restarted', never)
    // Several attempts to reconnect have failed by then.
    await waitInVain(lock, 'another', 700)
    await server.start()
    expect((await again).lost.aborted).toBe(false)
    expect(said('Redis is out of reach')).toBe(1)
    expect(said('lost a lock')).toBe(1)
  })

  it('says nothing in the log while all is well', async () => {
    const { log, lines } = createMemoryLog()
    const lock = create({ log })
    await (await lock.acquire('quiet', never)).release()
    await lock.close()
    expect(lines).toEqual([])
  })
})
