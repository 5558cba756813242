import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { describeHot } from '../../test/hot-conformance.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { startTestRedis, type TestRedis } from '../../test/redis-for-tests.ts'
import type { HotStore } from './hot-store.ts'
import { createRedisHot } from './redis-hot.ts'

let redis: TestRedis
beforeAll(async () => {
  redis = await startTestRedis()
})
afterAll(() => redis.stop())

let opened = 0
async function open(ttlMs: number): Promise<HotStore> {
  opened += 1
  const hot = createRedisHot({ url: redis.url, log: createMemoryLog().log, ttlMs, prefix: `test-${opened}:` })
  await untilConnected(hot)
  return hot
}

async function untilConnected(hot: HotStore): Promise<void> {
  await vi.waitFor(
    async () => {
      await hot.write([{ userId: 'probe', taskId: 'probe', progress: 1 }])
      expect((await hot.read('probe')).size).toBe(1)
    },
    { timeout: 10_000, interval: 10 },
  )
}

describeHot('the hot store in Redis', open)

it('two replicas see the same', async () => {
  const [one, other] = await Promise.all(
    [0, 1].map(async () => {
      const hot = createRedisHot({ url: redis.url, log: createMemoryLog().log, prefix: 'shared:' })
      await untilConnected(hot)
      return hot
    }),
  )
  await one?.write([{ userId: 'ada', taskId: 'a', progress: 41 }])
  expect(await other?.read('ada')).toEqual(new Map([['a', 41]]))
  await Promise.all([one?.close(), other?.close()])
})

it('E2: Redis killed, restarted empty, flushed, stopped in its tracks: never an error, one line per outage', async () => {
  const own = await startTestRedis()
  const { log, lines } = createMemoryLog()
  const hot = createRedisHot({ url: own.url, log })
  const told = (text: string) => lines.filter((line) => line.includes(text)).length
  const write = (progress: number) => hot.write([{ userId: 'ada', taskId: 'a', progress }])
  const back = () =>
    vi.waitFor(
      async () => {
        await write(50)
        expect(await hot.read('ada')).toEqual(new Map([['a', 50]]))
      },
      { timeout: 15_000, interval: 20 },
    )
  try {
    await back()
    await own.kill()
    for (let n = 0; n < 20; n += 1) {
      await write(60)
      expect(await hot.read('ada')).toEqual(new Map())
      await hot.forget([{ userId: 'ada', taskId: 'a' }])
    }
    expect(told('Redis is out of reach')).toBe(1)
    await own.start()
    await back()
    await vi.waitFor(
      async () => {
        await write(50)
        expect(told('Redis is back')).toBe(1)
      },
      { timeout: 15_000, interval: 20 },
    )

    const admin = new Redis(own.url)
    await admin.flushall()
    expect(await hot.read('ada')).toEqual(new Map())
    await admin.quit()

    process.kill(own.pid(), 'SIGSTOP')
    for (let n = 0; n < 20; n += 1) expect(await hot.read('ada')).toEqual(new Map())
    expect(told('Redis is out of reach')).toBe(2)
    process.kill(own.pid(), 'SIGCONT')
    await back()
  } finally {
    await hot.close()
    await own.stop()
  }
}, 60_000)

it('what others have put under our names is not believed', async () => {
  const admin = new Redis(redis.url)
  await admin.hset('odd:ada', { a: 'many', b: '7' })
  await admin.set('odd:bob', 'not a hash')
  const hot = createRedisHot({ url: redis.url, log: createMemoryLog().log, prefix: 'odd:' })
  await untilConnected(hot)
  expect(await hot.read('ada')).toEqual(new Map([['b', 7]]))
  expect(await hot.read('bob')).toEqual(new Map())
  await admin.quit()
  await hot.close()
})
