import type { StreamEvents, Task } from '@holdfast/shared'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { connectCounted } from '../../test/counted-connection.ts'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { untold } from '../../test/record-notices.ts'
import { setProgress } from '../../test/set-progress.ts'
import { settleTask } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { createMemoryBus } from '../bus/memory-bus.ts'
import type { Sql } from '../database/connect.ts'
import { createMemoryHot } from '../hot/memory-hot.ts'
import { createPresenter } from '../tasks/present-tasks.ts'
import { acceptTask } from '../work/send/accept-task.ts'
import { createFeeds, type Feeds, type FeedsOptions } from './feeds.ts'
import { createStreamOutage } from './stream-outage.ts'

let database: TestDatabase
let sql: Sql
let statements: string[]
const opened: Feeds[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  ;({ sql, statements } = connectCounted(database.url))
})
afterEach(() => {
  for (const feeds of opened.splice(0)) feeds.close()
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

const HOUR = 3_600_000
const until = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 5 })
const decoder = new TextDecoder()

function parse(bytes: Uint8Array) {
  const blocks = decoder.decode(bytes).split('\n\n').slice(0, -1)
  return blocks.map((block) => {
    const fields = new Map(block.split('\n').map((line) => [line.split(': ')[0], line.replace(/^\w+: /, '')]))
    return { data: JSON.parse(fields.get('data') ?? ''), id: fields.get('id') }
  })
}

function start(options: Partial<FeedsOptions> = {}) {
  const bus = createMemoryBus()
  const hot = createMemoryHot()
  const { log, lines } = createMemoryLog()
  const feeds = createFeeds({
    sql,
    bus,
    present: createPresenter(null, hot),
    outage: createStreamOutage(log),
    sweepMs: HOUR,
    perUser: 20,
    ...options,
  })
  opened.push(feeds)

  /** A stream whose client takes what there is at once, unless `isSlow` says otherwise. */
  async function follow(
    userId: string,
    { cursor = null, isSlow = false }: { cursor?: string | null; isSlow?: boolean } = {},
  ) {
    const events: { data: StreamEvents['task']; id: string | undefined }[] = []
    const take = () => {
      for (let bytes = reader?.next(); bytes; bytes = reader?.next()) events.push(...parse(bytes))
    }
    let reader: Awaited<ReturnType<Feeds['join']>> | undefined
    const onNews = () => {
      if (!isSlow) take()
    }
    reader = await feeds.join({ userId, cursor, onNews, first: async () => {} })
    take()
    const [snapshot] = parse(reader.snapshot)
    return {
      snapshot: (snapshot?.data as StreamEvents['snapshot'] | undefined)?.tasks ?? [],
      cursor: snapshot?.id ?? null,
      events,
      take,
      changes: () => events.map(({ data }) => `${data.task.id} ${data.change}`),
      progress: () => events.map(({ data }) => data.task.progress),
      leave: () => reader.leave(),
    }
  }
  return { bus, hot, feeds, follow, lines }
}

const acceptance = (taskId: string) => ({
  taskId,
  externalId: `external-${taskId}`,
  provider: 'nobody',
  deadlineMs: 600_000,
  expectedMs: 1,
  firstPollMs: HOUR,
  canCancel: false,
})

describe('the feed of a user (E1, E2)', () => {
  it('begins with what there is and then names every step of a task’s life', async () => {
    const { bus, follow } = start()
    const before = await makeTask(sql, { userId: 'ada' })
    const stream = await follow('ada')
    expect(stream.snapshot.map(({ id }) => id)).toEqual([before.id])
    const { id } = await makeTask(sql, { userId: 'ada' })
    const steps: [string, () => Promise<unknown>][] = [
      ['submitted', async () => {}],
      ['started', () => acceptTask(untold(sql), acceptance(id))],
      ['progress', () => setProgress(sql, id, 10)],
      ['updated', () => sql`update holdfast.tasks set metadata = '{"seen": true}' where id = ${id}`],
      ['progress', () => setProgress(sql, id, 60)],
      ['completed', () => settleTask(sql, id, { status: 'completed', outputs: [] })],
      ['updated', () => sql`update holdfast.tasks set metadata = '{"seen": false}' where id = ${id}`],
    ]
    for (const [index, [, step]] of steps.entries()) {
      await step()
      bus.publish('ada')
      await until(() => expect(stream.changes()).toHaveLength(index + 1))
    }
    expect(stream.changes()).toEqual(steps.map(([change]) => `${id} ${change}`))
  })

  it('one query per hint for all of a user’s streams, and the same bytes for each', async () => {
    const { bus, follow } = start()
    const task = await makeRunningTask(sql, { userId: 'bob' })
    const streams = await Promise.all(Array.from({ length: 20 }, () => follow('bob')))
    for (const progress of [5, 6]) {
      await setProgress(sql, task.id, progress)
      statements.length = 0
      bus.publish('bob')
      await until(() => {
        for (const stream of streams) expect(stream.progress().at(-1)).toBe(progress)
      })
      expect(statements).toHaveLength(1)
    }
    for (const stream of streams) expect(stream.progress()).toEqual([5, 6])
    // However often it is hinted at, nothing is told twice.
    for (let n = 0; n < 50; n += 1) bus.publish('bob')
    await setProgress(sql, task.id, 7)
    bus.publish('bob')
    await until(() => expect(streams[0]?.progress()).toEqual([5, 6, 7]))
  })

  it('twenty streams that open at once are one reading', async () => {
    const { follow } = start()
    await makeRunningTask(sql, { userId: 'cat' })
    statements.length = 0
    await Promise.all(Array.from({ length: 20 }, () => follow('cat')))
    // The first begins the feed; the others come while it is at it, and share the second.
    expect(statements.length).toBeLessThanOrEqual(2)
  })

  it('Q3: progress that is only hot is shown at once, in order, without a look into the database', async () => {
    const { bus, hot, follow } = start()
    const { id: taskId } = await makeRunningTask(sql, { userId: 'dee' })
    const stream = await follow('dee')
    statements.length = 0
    for (const progress of [1, 2, 3, 50]) {
      await hot.write([{ userId: 'dee', taskId, progress }])
      bus.publish('dee', 'progressed')
      await until(() => expect(stream.progress().at(-1)).toBe(progress))
    }
    expect(stream.progress()).toEqual([1, 2, 3, 50])
    expect(statements).toEqual([])
    // Now it is written down: no news. And it ended: that is.
    await setProgress(sql, taskId, 50)
    bus.publish('dee')
    await settleTask(sql, taskId, { status: 'completed', outputs: [] })
    bus.publish('dee')
    await until(() => expect(stream.changes().at(-1)).toBe(`${taskId} completed`))
    expect(stream.progress()).toEqual([1, 2, 3, 50, 100])
  })

  it('whoever comes later begins where the others are, and shows hot progress too', async () => {
    const { hot, bus, follow } = start()
    const { id: taskId } = await makeRunningTask(sql, { userId: 'eli' })
    const first = await follow('eli')
    await hot.write([{ userId: 'eli', taskId, progress: 33 }])
    const second = await follow('eli')
    expect(second.snapshot).toMatchObject([{ progress: 33 }])
    await hot.forget([{ userId: 'eli', taskId }])
    const third = await follow('eli', { cursor: first.cursor })
    bus.publish('eli')
    await until(() => expect(first.progress()).toEqual([33]))
    // The hot store has lost it, but it was shown.
    const fourth = await follow('eli')
    expect(fourth.snapshot).toMatchObject([{ progress: 33 }])
    expect(third.events).toEqual([])
  })

  it('never shows another user’s tasks', async () => {
    const { bus, follow } = start()
    const stream = await follow('cy')
    await makeTask(sql, { userId: 'dan' })
    const own = await makeTask(sql, { userId: 'cy' })
    bus.publish('cy')
    await until(() => expect(stream.changes()).toEqual([`${own.id} submitted`]))
  })

  it('makes up for lost hints of many users with one statement, and only those with news look', async () => {
    const { follow } = start({ sweepMs: 50 })
    const users = Array.from({ length: 30 }, (_, n) => `quiet-${n}`)
    for (const user of users) await follow(user)
    const stream = await follow('eve')
    const task = await makeTask(sql, { userId: 'eve' })
    await until(() => expect(stream.changes()).toEqual([`${task.id} submitted`]))
    // While a transaction that began before hers is open, anywhere in the cluster, eve's change may come again.
    const sinceLook = () => statements.slice(statements.findLastIndex((text) => text.includes('read_at')) + 1)
    await until(() =>
      expect(sinceLook().filter((text) => text.includes('unnest')).length).toBeGreaterThan(15),
    )
    expect(sinceLook().length).toBeLessThan(60)
  })

  it('resumes: only what changed since, with the right names', async () => {
    const { follow, bus } = start()
    const quiet = await makeRunningTask(sql, { userId: 'gus' })
    const ending = await makeRunningTask(sql, { userId: 'gus' })
    const first = await follow('gus')
    first.leave()
    await settleTask(sql, ending.id, { status: 'cancelled' })
    const second = await follow('gus', { cursor: first.cursor })
    // With other transactions about, what was known already may come again; what changed always does.
    expect(second.snapshot.map(({ id }) => id)).toContain(ending.id)
    await setProgress(sql, quiet.id, 20)
    bus.publish('gus')
    await until(() => expect(second.changes()).toEqual([`${quiet.id} progress`]))
  })

  it('a stream that breaks within a batch resumes without losing the rest of it', async () => {
    const { follow, bus } = start()
    const tasks: Task[] = []
    for (let index = 0; index < 3; index++) tasks.push(await makeRunningTask(sql, { userId: 'hal' }))
    const broken = await follow('hal')
    await sql.begin(async (tx) => {
      for (const { id } of tasks) await tx`update holdfast.tasks set progress = 50 where id = ${id}`
    })
    bus.publish('hal')
    await until(() => expect(broken.events).toHaveLength(3))
    const [received] = broken.events
    broken.leave()
    expect(bus.isWatched('hal')).toBe(false)
    const resumed = await follow('hal', { cursor: received?.id ?? null })
    const missed = tasks.map(({ id }) => id).filter((id) => id !== received?.data.task.id)
    expect(resumed.snapshot.map(({ id }) => id)).toEqual(expect.arrayContaining(missed))
  })

  it('a slow reader gets the newest state, not a queue of old ones, and holds nobody up', async () => {
    const { follow, bus } = start()
    const task = await makeRunningTask(sql, { userId: 'jan' })
    const slow = await follow('jan', { isSlow: true })
    const fast = await follow('jan')
    for (const progress of [1, 2, 3, 4]) {
      await setProgress(sql, task.id, progress)
      bus.publish('jan')
      await until(() => expect(fast.progress().at(-1)).toBe(progress))
    }
    await settleTask(sql, task.id, { status: 'completed', outputs: [] })
    bus.publish('jan')
    await until(() => expect(fast.events).toHaveLength(5))
    expect(slow.events).toEqual([])
    slow.take()
    expect(slow.changes()).toEqual([`${task.id} completed`])
  })

  it('what was read already is not read again while a long transaction holds the cursor back', async () => {
    const { follow, bus } = start()
    const [one, other] = [
      await makeRunningTask(sql, { userId: 'kim' }),
      await makeRunningTask(sql, { userId: 'kim' }),
    ]
    const stream = await follow('kim')
    await sql.begin(async (tx) => {
      await tx`insert into holdfast.conversations (user_id, title) values ('somebody', 'long')`
      for (const [progress, { id }] of [one, other, one].entries()) {
        await setProgress(sql, id, progress + 10)
        bus.publish('kim')
        await until(() => expect(stream.events).toHaveLength(progress + 1))
      }
    })
    expect(stream.progress()).toEqual([10, 11, 12])
  })

  it('P2: its user is watched while a stream is open and not a moment longer', async () => {
    const { follow, bus } = start()
    const [first, second] = [await follow('ida'), await follow('ida')]
    expect(bus.isWatched('ida')).toBe(true)
    first.leave()
    first.leave()
    expect(bus.isWatched('ida')).toBe(true)
    second.leave()
    expect(bus.isWatched('ida')).toBe(false)
  })

  it('a user has so many streams and no more; who leaves makes room', async () => {
    const { follow, bus } = start({ perUser: 2 })
    const first = await follow('lea')
    await follow('lea')
    await expect(follow('lea')).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 30 })
    await follow('mia')
    first.leave()
    await follow('lea')
    expect(bus.isWatched('lea')).toBe(true)
  })

  it('what cannot be prepared is refused, and leaves nobody behind', async () => {
    const { feeds, bus } = start()
    const join = (first: () => Promise<void>) =>
      feeds.join({ userId: 'ned', cursor: null, onNews: () => {}, first })
    await expect(join(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(bus.isWatched('ned')).toBe(false)
    await join(async () => {})
  })

  it('a cursor that is none, or of another cluster, brings everything', async () => {
    const { follow } = start()
    const task = await makeTask(sql, { userId: 'ora' })
    for (const cursor of ['nonsense', '9999999999999999999', '']) {
      expect((await follow('ora', { cursor })).snapshot.map(({ id }) => id)).toEqual([task.id])
    }
  })
})
