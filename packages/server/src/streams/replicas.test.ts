import type { StreamEvents } from '@holdfast/shared'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { startCuttableProxy } from '../../test/cuttable-proxy.ts'
import { makeTask } from '../../test/make-task.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { startTestPgbouncer, type TestPgbouncer } from '../../test/pgbouncer-for-tests.ts'
import { queueWork } from '../../test/queue-work.ts'
import type { EventReader } from '../../test/read-events.ts'
import { startTestRedis, type TestRedis } from '../../test/redis-for-tests.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { signToken } from '../../test/test-tokens.ts'
import { startTwoReplicas, type TwoReplicas, type TwoReplicasOptions } from '../../test/two-replicas.ts'
import { postgresChannel } from '../bus/postgres-channel.ts'
import { redisChannel } from '../bus/redis-channel.ts'
import { createReplicatedBus } from '../bus/replicated-bus.ts'
import type { HoldfastConfig } from '../create-holdfast.ts'
import { createRedisHot } from '../hot/redis-hot.ts'

let database: TestDatabase
let redis: TestRedis
let pooler: TestPgbouncer
let replicas: TwoReplicas | undefined
beforeAll(async () => {
  ;[database, redis] = await Promise.all([createTestDatabase(), startTestRedis()])
  // Each statement may go to another session than the one before.
  pooler = await startTestPgbouncer({ url: database.url, mode: 'transaction', roundRobin: true })
})
afterEach(async () => {
  await replicas?.stop()
  replicas = undefined
})
afterAll(async () => {
  await Promise.all([redis.stop(), pooler.stop()])
  await database.drop()
})

const { log } = createMemoryLog()
const HOUR = 3_600_000
const until = (check: () => unknown) => vi.waitFor(check, { timeout: 15_000, interval: 10 })
const overRedis = (url = redis.url): Partial<HoldfastConfig> => ({
  bus: createReplicatedBus({ open: redisChannel({ url }), log, announceMs: 200 }),
  hot: createRedisHot({ url, log }),
})
const overPostgres = (url = database.url): Partial<HoldfastConfig> => ({
  bus: createReplicatedBus({ open: postgresChannel({ sql: database.sql, url }), log, announceMs: 200 }),
})

/** The bus hears over the direct way. All else goes through the pooler. */
const behindPooler = (): Partial<HoldfastConfig> => ({ ...overPostgres(), database: pooler.url })

async function start(options: Omit<TwoReplicasOptions, 'database'>): Promise<TwoReplicas> {
  replicas = await startTwoReplicas({ database, ...options })
  return replicas
}

async function nextTask(events: EventReader): Promise<StreamEvents['task']> {
  return (await events.until('task')).data as StreamEvents['task']
}

/** Until this task is at least so far; all that was shown on the way. */
async function untilProgress(events: EventReader, taskId: string, progress: number): Promise<number[]> {
  const shown: number[] = []
  while ((shown.at(-1) ?? -1) < progress) {
    const { task } = await nextTask(events)
    if (task.id === taskId && task.progress !== null && task.progress !== shown.at(-1))
      shown.push(task.progress)
  }
  return shown
}

/** Streams of several users at both replicas, and what they have been told has ended. */
async function openCrowd({ openStream, front, back, provider }: TwoReplicas, name: string) {
  const users = Array.from({ length: 10 }, (_, n) => `${name} ${n}`)
  const streams = await Promise.all(
    users.flatMap((userId) =>
      [front, back, front].map(async (at) => {
        const events = await openStream(userId, {}, at)
        const ended = new Set<string>()
        const reading = (async () => {
          for (;;) {
            const { task, change } = await nextTask(events)
            if (change === 'completed') ended.add(task.id)
          }
        })().catch(() => {
          // Over, or silent: what is missing then shows below.
        })
        return { userId, events, ended, reading }
      }),
    ),
  )
  return {
    /** Ends some tasks of each of them and waits until all of their streams know. */
    async finishSome() {
      const tasks = await Promise.all(
        users.map((userId) =>
          queueWork(database.sql, { provider: provider.name, kind: 'poll', userId, count: 3 }),
        ),
      )
      await until(() => {
        for (const { userId, ended } of streams) {
          expect(tasks[users.indexOf(userId)]?.filter((id) => !ended.has(id))).toEqual([])
        }
      })
    },
    async leave() {
      for (const { events, reading } of streams) {
        await events.cancel()
        await reading
      }
    },
  }
}

/** The engine looks by itself only once an hour: what it does at once, it was told to. */
const sleepy = { engine: { idleMs: HOUR } }

describe.each([
  ['Redis', overRedis],
  ['PostgreSQL', overPostgres],
  ['PostgreSQL, behind PgBouncer in transaction mode', behindPooler],
])('two replicas over %s', (name, over) => {
  it('a submit at one wakes the engine at the other, and its stream shows the end', async () => {
    const behind = over()
    const { submit, openStream } = await start({
      script: { query: () => ({ kind: 'succeeded', outputs: [] }), limits: { minPollMs: 1 } },
      front: { ...over(), streams: { sweepMs: HOUR } },
      back: { ...behind, engine: { idleMs: 400 } },
    })
    const events = await openStream('ada')
    await events.until('snapshot')
    // Who does not know yet that somebody watches asks after half a minute.
    await until(() => expect(behind.bus?.isWatched('ada')).toBe(true))
    const task = await submit('ada')
    for (let change = ''; change !== 'completed'; ) {
      const news = await nextTask(events)
      expect(news.task.id).toBe(task.id)
      change = news.change
    }
    await events.cancel()
  })

  it('a conversation that is read at one is read in the streams at the other', async () => {
    const { openStream, back } = await start({
      script: {},
      front: { ...over(), streams: { sweepMs: HOUR } },
      back: over(),
    })
    const userId = `reader over ${name}`
    const [unread] = await database.sql<{ id: string }[]>`
      insert into holdfast.conversations (user_id, title, unread_count) values (${userId}, 'foxes', 1) returning id
    `
    const id = unread?.id ?? ''
    const events = await openStream(userId)
    expect((await events.next()).data).toMatchObject({ unreadConversations: 1 })
    await back.app.request(`/v1/conversations/${id}/read`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await signToken(userId)}` },
    })
    const { data } = await events.until('conversations')
    expect(data).toMatchObject({ conversations: [{ id, unread: 0 }], unreadConversations: 0 })
    await events.cancel()
  })

  it('P2: polled faster from when a stream opens at the other, and slower again when it has closed', async () => {
    const { submit, openStream, provider } = await start({
      script: {
        query: () => ({ kind: 'running', progress: null }),
        limits: { minPollMs: 20, callTimeoutMs: 50 },
      },
      type: { watchedPollMs: 20 },
      front: over(),
      back: { ...over(), engine: { leaseMarginMs: 50 } },
    })
    const task = await submit('bob')
    const work = async () => {
      const [row] = await database.sql<{ polls: number; inMs: number }[]>`
        select polls, (extract(epoch from due_at - now()) * 1000)::float8 as "inMs" from holdfast.work
        where task_id = ${task.id} and kind = 'poll'
      `
      return row
    }
    // Nobody watches: the first poll is half a minute away.
    await until(async () => expect((await work())?.inMs).toBeGreaterThan(15_000))
    expect(provider.queries).toHaveLength(0)
    const events = await openStream('bob')
    await until(() => expect(provider.queries.length).toBeGreaterThan(10))
    await events.cancel()
    await until(async () => expect((await work())?.inMs).toBeGreaterThan(15_000))
  })
})

describe.each([
  ['Redis', overRedis],
  ['PostgreSQL', overPostgres],
  ['PostgreSQL, behind PgBouncer in transaction mode', behindPooler],
])('two streams of one browser at two replicas over %s', (name, over) => {
  const from = (browser: string, epoch: number) => ({
    'x-holdfast-browser': browser,
    'x-holdfast-epoch': String(epoch),
  })
  const superseded = [{ event: 'end', data: { reason: 'superseded' } }]

  async function startQuiet() {
    const streams = { sweepMs: 100 }
    const given = await start({
      script: {},
      front: { ...over(), streams },
      back: { ...over(), ...sleepy, streams },
    })
    // What is written shows, by the sweep, on whatever is still open.
    const touch = (userId: string) => makeTask(database.sql, { userId })
    return { ...given, touch }
  }

  it('F5: the older one ends, other browsers and users keep theirs, and the newer goes on', async () => {
    const { openStream, back, touch } = await startQuiet()
    const userId = `gus ${name}`
    const older = await openStream(userId, from('phone', 1))
    const others = [
      await openStream(userId, from('laptop', 1)),
      await openStream(`${userId} too`, from('phone', 1)),
      await openStream(userId, {}),
    ]
    for (const events of [older, ...others]) await events.until('snapshot')
    const newer = await openStream(userId, from('phone', 2), back)
    await newer.until('snapshot')
    expect(await older.rest()).toMatchObject(superseded)
    await touch(userId)
    await touch(`${userId} too`)
    for (const events of [newer, ...others]) await nextTask(events)
    for (const events of [newer, ...others]) await events.cancel()
  })

  it('F5: whichever opens first, and of two with the same epoch neither', async () => {
    const { openStream, back, touch } = await startQuiet()
    const userId = `hal ${name}`
    const newer = await openStream(userId, from('phone', 7), back)
    await newer.until('snapshot')
    const late = await openStream(userId, from('phone', 6))
    expect(await late.rest()).toMatchObject([{ event: 'snapshot' }, ...superseded])
    // A reconnect: the one before may be dead and not know it, or may be the later of the two.
    const again = await openStream(userId, from('phone', 7))
    await again.until('snapshot')
    // Told in order: once this one is closed, the hint about the other has been heard too.
    const mark = await openStream(userId, from('tablet', 1), back)
    await mark.until('snapshot')
    await openStream(userId, from('tablet', 2))
    expect(await mark.rest()).toMatchObject(superseded)
    await touch(userId)
    for (const events of [newer, again]) await nextTask(events)
    for (const events of [newer, again]) await events.cancel()
  })
})

describe('two replicas', () => {
  it('wakes the engine at the other replica, which would not have looked', async () => {
    const { submit, provider, openStream } = await start({
      script: {},
      front: overRedis(),
      back: { ...overRedis(), ...sleepy },
    })
    // Once the front's watching is known at the back, they hear each other.
    const events = await openStream('ada')
    await until(async () => {
      await submit('ada')
      expect(provider.creates.length).toBeGreaterThan(0)
    })
    await events.cancel()
  })

  it('Q3: with Redis every step is shown at the other replica, in order, though few are written', async () => {
    let progress = 0
    const { submit, openStream } = await start({
      script: {
        query: () => ({ kind: 'running', progress: Math.min(99, ++progress) }),
        limits: { minPollMs: 30, callTimeoutMs: 100 },
      },
      type: { watchedPollMs: 30 },
      front: { ...overRedis(), streams: { sweepMs: HOUR } },
      back: { ...overRedis(), engine: { leaseMarginMs: 100 } },
    })
    const events = await openStream('cy')
    await events.until('snapshot')
    const task = await submit('cy')
    const shown = await untilProgress(events, task.id, 30)
    expect(shown).toEqual(shown.toSorted((a, b) => a - b))
    expect(shown.length).toBeGreaterThan(25)
    const [row] = await database.sql<
      { version: number }[]
    >`select version from holdfast.tasks where id = ${task.id}`
    // Created, accepted, and at most one write of progress in these few seconds.
    expect(row?.version).toBeLessThanOrEqual(3)
    await events.cancel()
  })

  it('without Redis the other replica shows progress when it is in the database', async () => {
    let progress = 0
    const { submit, openStream } = await start({
      script: {
        query: () => ({ kind: 'running', progress: Math.min(99, ++progress) }),
        limits: { minPollMs: 30, callTimeoutMs: 100 },
      },
      type: { watchedPollMs: 30 },
      front: { ...overPostgres(), streams: { sweepMs: HOUR } },
      back: { ...overPostgres(), engine: { leaseMarginMs: 100, progressEveryMs: 300 } },
    })
    const events = await openStream('dee')
    await events.until('snapshot')
    const task = await submit('dee')
    const shown = await untilProgress(events, task.id, 30)
    expect(shown).toEqual(shown.toSorted((a, b) => a - b))
    await events.cancel()
  })

  it('E6: Redis killed, back, flushed: streams show everything all the same, and nothing goes back', async () => {
    const own = await startTestRedis()
    let progress = 0
    try {
      const { submit, openStream, provider } = await start({
        script: {
          query: () => ({ kind: 'running', progress: Math.min(99, progress) }),
          limits: { minPollMs: 20, callTimeoutMs: 100 },
        },
        type: { watchedPollMs: 20 },
        front: { ...overRedis(own.url), streams: { sweepMs: 50 } },
        back: { ...overRedis(own.url), engine: { leaseMarginMs: 100, progressEveryMs: 100 } },
      })
      const events = await openStream('eve')
      await events.until('snapshot')
      const task = await submit('eve')
      const shown: number[] = []
      const advance = async (to: number) => {
        progress = to
        // Not watched by the back while Redis is away, so polled at an unwatched pace: made due by hand.
        const due = setInterval(
          () =>
            void database.sql`update holdfast.work set due_at = now(), epoch = epoch + 1 where task_id = ${task.id}`.catch(
              () => {},
            ),
          100,
        )
        try {
          shown.push(...(await untilProgress(events, task.id, to)))
        } finally {
          clearInterval(due)
        }
      }
      await advance(10)
      await own.kill()
      await advance(20)
      await own.start()
      await advance(30)
      await advance(40)
      await own.kill()
      await own.start()
      await advance(50)
      expect(shown).toEqual(shown.toSorted((a, b) => a - b))
      expect(provider.queries.length).toBeGreaterThan(4)
      await events.cancel()
    } finally {
      await replicas?.stop()
      replicas = undefined
      await own.stop()
    }
  }, 60_000)

  it('E6: Redis killed, back and flushed in the midst of finishes: every one of them reaches every stream', async () => {
    const own = await startTestRedis()
    try {
      const given = await start({
        script: { query: () => ({ kind: 'succeeded', outputs: [] }) },
        front: { ...overRedis(own.url), streams: { sweepMs: 200 } },
        back: { ...overRedis(own.url), streams: { sweepMs: 200 } },
      })
      const crowd = await openCrowd(given, 'redis')
      await crowd.finishSome()
      const killed = own.kill()
      // Some while it dies, all of the next while it is away.
      await crowd.finishSome()
      await killed
      await crowd.finishSome()
      await own.start()
      await crowd.finishSome()
      const admin = new Redis(own.url)
      const flushing = setInterval(() => void admin.flushall().catch(() => {}), 5)
      await crowd.finishSome()
      clearInterval(flushing)
      await admin.quit()
      await crowd.leave()
    } finally {
      await replicas?.stop()
      replicas = undefined
      await own.stop()
    }
  }, 60_000)

  it('E6: LISTEN ended by the database in the midst of finishes: every one reaches every stream, without a sweep', async () => {
    const given = await start({
      script: { query: () => ({ kind: 'succeeded', outputs: [] }) },
      front: { ...overPostgres(), streams: { sweepMs: HOUR } },
      back: { ...overPostgres(), streams: { sweepMs: HOUR } },
    })
    const crowd = await openCrowd(given, 'listen')
    await crowd.finishSome()
    for (let round = 0; round < 3; round += 1) {
      const finished = crowd.finishSome()
      const ended = await database.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'holdfast-bus' and datname = current_database()
      `
      expect(ended.length).toBeGreaterThan(0)
      await finished
    }
    await crowd.leave()
  }, 60_000)

  it('E6: a LISTEN connection that is cut costs nothing but a moment', async () => {
    const proxy = await startCuttableProxy(database.url)
    try {
      const { submit, openStream } = await start({
        script: { query: () => ({ kind: 'succeeded', outputs: [] }) },
        front: { ...overPostgres(proxy.url), streams: { sweepMs: 100 } },
        back: overPostgres(),
      })
      const events = await openStream('fay')
      await events.until('snapshot')
      await proxy.cut()
      const deaf = await submit('fay')
      for (let last = ''; last !== `${deaf.id} completed`; ) {
        const { task, change } = await nextTask(events)
        last = `${task.id} ${change}`
      }
      await proxy.mend()
      const healed = await submit('fay')
      for (let last = ''; last !== `${healed.id} completed`; ) {
        const { task, change } = await nextTask(events)
        last = `${task.id} ${change}`
      }
      await events.cancel()
    } finally {
      await replicas?.stop()
      replicas = undefined
      await proxy.close()
    }
  })
})
