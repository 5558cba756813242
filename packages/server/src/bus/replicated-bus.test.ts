import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { describeBus, describeReplicas } from '../../test/bus-conformance.ts'
import { startCuttableProxy } from '../../test/cuttable-proxy.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { startTestRedis, type TestRedis } from '../../test/redis-for-tests.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import type { Bus } from './bus.ts'
import type { OpenChannel } from './channel.ts'
import { postgresChannel } from './postgres-channel.ts'
import { redisChannel } from './redis-channel.ts'
import { createReplicatedBus } from './replicated-bus.ts'

let redis: TestRedis
let database: TestDatabase
beforeAll(async () => {
  redis = await startTestRedis()
  database = await createTestDatabase()
})
afterAll(async () => {
  await redis.stop()
  await database.drop()
})

const { log } = createMemoryLog()
const over = (open: OpenChannel, announceMs = 1_000) => createReplicatedBus({ open, log, announceMs })
let names = 0

function makeRedisBus() {
  names += 1
  const name = `bus-${names}`
  return () => over(redisChannel({ url: redis.url, name }))
}

function makePostgresBus() {
  names += 1
  const name = `bus-${names}`
  return () => over(postgresChannel({ sql: database.sql, url: database.url, name }))
}

describeBus('the bus over Redis', makeRedisBus)
describeReplicas('the bus over Redis', makeRedisBus)
describeBus('the bus over PostgreSQL', makePostgresBus)
describeReplicas('the bus over PostgreSQL', makePostgresBus)

const until = (condition: () => boolean) =>
  vi.waitFor(() => expect(condition()).toBe(true), { timeout: 15_000, interval: 10 })

describe('when the channel is away', () => {
  it('Redis is killed: the process lives, listeners here are told, and it comes back by itself', async () => {
    const own = await startTestRedis()
    const [one, other] = [0, 1].map(() => over(redisChannel({ url: own.url }), 200)) as [Bus, Bus]
    try {
      let heard = 0
      other.subscribe('ada', () => {
        heard += 1
      })
      await until(() => one.isWatched('ada'))
      await own.kill()
      const before = heard
      other.publish('ada')
      expect(heard).toBe(before + 1)
      one.publish('ada')
      // Nobody hears of it, and after a while nobody counts as watched there.
      await until(() => !one.isWatched('ada'))
      await own.start()
      await until(() => one.isWatched('ada'))
      const after = heard
      one.publish('ada')
      await until(() => heard > after)
    } finally {
      await Promise.all([one.close(), other.close()])
      await own.stop()
    }
  }, 40_000)

  it('a LISTEN connection that is cut, or swallows everything, is replaced; listeners look for themselves', async () => {
    const proxy = await startCuttableProxy(database.url)
    const one = over(postgresChannel({ sql: database.sql, url: database.url, name: 'cut' }), 200)
    const other = over(postgresChannel({ sql: database.sql, url: proxy.url, name: 'cut' }), 200)
    try {
      let heard = 0
      other.subscribe('ada', () => {
        heard += 1
      })
      await until(() => one.isWatched('ada'))
      const hurts = [() => proxy.cut().then(proxy.mend), async () => proxy.freeze()]
      for (const hurt of hurts) {
        const before = heard
        await hurt()
        // Told that anything may have changed, as soon as it is connected again.
        await until(() => heard > before)
        const after = heard
        one.publish('ada')
        await until(() => heard > after)
      }
    } finally {
      await Promise.all([one.close(), other.close()])
      await proxy.close()
    }
  }, 40_000)
})

/** A channel that works by calls: what is said is kept, and what is heard is what the test says. */
function createHeldChannel() {
  const sent: string[] = []
  const held = {
    sent,
    isAway: false,
    hear: (_text: string) => {},
    open: ((listener) => {
      held.hear = listener.message
      queueMicrotask(listener.connected)
      return {
        maxBytes: 7_900,
        send: async (texts) => {
          if (held.isAway) throw new Error('away')
          sent.push(...texts)
        },
        renew: () => {},
        close: async () => {},
      }
    }) satisfies OpenChannel,
  }
  return held
}

it('E6: what could not be said is made up for, once the others can hear again', async () => {
  const channel = createHeldChannel()
  const { log, lines } = createMemoryLog()
  const bus = createReplicatedBus({ log, open: channel.open })
  const saidMissed = () => channel.sent.filter((text) => text.includes('missed')).length
  try {
    await until(() => channel.sent.length > 0)
    for (const times of [1, 2]) {
      channel.isAway = true
      bus.publish('ada')
      await until(() => lines.filter((line) => line.includes('cannot hear')).length === times)
      channel.isAway = false
      await until(() => saidMissed() === times)
      await until(() => lines.filter((line) => line.includes('hear each other again')).length === times)
    }
  } finally {
    await bus.close()
  }
})

it('E6: another could not speak for a while: everybody here looks, and so does the engine', async () => {
  const channel = createHeldChannel()
  const bus = createReplicatedBus({ log, open: channel.open })
  await until(() => channel.sent.length > 0)
  const told: string[] = []
  bus.subscribe('ada', (hint) => told.push(`ada ${hint}`))
  bus.subscribe('bob', (hint) => told.push(`bob ${hint}`))
  bus.onWork(() => told.push('work'))
  channel.hear(JSON.stringify({ from: 'another', kind: 'missed', users: [] }))
  await bus.close()
  expect(told).toEqual(['work', 'ada changed', 'bob changed'])
})

it('many hints go as few messages', async () => {
  const { sent, open } = createHeldChannel()
  const bus = createReplicatedBus({ log, open })
  for (let round = 0; round < 100; round += 1) for (let n = 0; n < 100; n += 1) bus.publish(`user-${n}`)
  await until(() => sent.some((text) => text.includes('changed')))
  await bus.close()
  expect(sent.filter((text) => text.includes('changed'))).toHaveLength(1)
})
