import type { StreamEvents, Task } from '@holdfast/shared'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { settleTask } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { createMemoryBus } from '../bus/memory-bus.ts'
import type { Sql } from '../database/connect.ts'
import { acceptTask } from '../tasks/accept-task.ts'
import { withoutUrls } from '../tasks/present-tasks.ts'
import { writeProgress } from '../tasks/write-progress.ts'
import { type FollowOptions, followTasks } from './follow-tasks.ts'

let database: TestDatabase
let sql: Sql
const open: (() => Promise<void>)[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})
afterAll(() => database.drop())

const HOUR = 3_600_000
const until = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 5 })

function follow(userId: string, options: Partial<FollowOptions> = {}) {
  const bus = createMemoryBus()
  const events: { event: string; data: StreamEvents['snapshot' | 'task']; id: string | undefined }[] = []
  const abort = new AbortController()
  let beats = 0
  const done = followTasks({
    sql,
    bus,
    present: withoutUrls,
    userId,
    cursor: null,
    heartbeatMs: HOUR,
    sweepMs: HOUR,
    signal: abort.signal,
    send: async (event, data, id) => void events.push({ event, data, id }),
    beat: async () => {
      beats += 1
    },
    ...options,
  })
  const close = async () => {
    abort.abort()
    await done
  }
  open.push(close)
  return {
    bus,
    events,
    close,
    done,
    beats: () => beats,
    changes: () => events.flatMap(({ data }) => ('change' in data ? [`${data.task.id} ${data.change}`] : [])),
    snapshot: () => events.flatMap(({ data }) => ('tasks' in data ? data.tasks.map(({ id }) => id) : [])),
  }
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

describe('following tasks (E1)', () => {
  it('begins with what there is and then names every step of a task’s life', async () => {
    const before = await makeTask(sql, { userId: 'ada' })
    const stream = follow('ada')
    await until(() => expect(stream.snapshot()).toEqual([before.id]))
    const { id } = await makeTask(sql, { userId: 'ada' })
    const steps: [string, () => Promise<unknown>][] = [
      ['submitted', async () => {}],
      ['started', () => acceptTask(sql, acceptance(id))],
      ['progress', () => writeProgress(sql, id, 10)],
      ['updated', () => sql`update holdfast.tasks set metadata = '{"seen": true}' where id = ${id}`],
      ['progress', () => writeProgress(sql, id, 60)],
      ['completed', () => settleTask(sql, id, { status: 'completed', outputs: [] })],
    ]
    for (const [index, [, step]] of steps.entries()) {
      await step()
      stream.bus.publish('ada')
      await until(() => expect(stream.changes()).toHaveLength(index + 1))
    }
    expect(stream.changes()).toEqual(steps.map(([change]) => `${id} ${change}`))
  })

  it('does not repeat what it has sent, however often it is hinted at', async () => {
    const task = await makeRunningTask(sql, { userId: 'bob' })
    const stream = follow('bob')
    await until(() => expect(stream.snapshot()).toEqual([task.id]))
    for (const progress of [5, 6]) {
      stream.bus.publish('bob')
      stream.bus.publish('bob')
      await writeProgress(sql, task.id, progress)
      stream.bus.publish('bob')
      await until(() => expect(stream.changes().length).toBe(progress - 4))
    }
    expect(stream.changes()).toEqual([`${task.id} progress`, `${task.id} progress`])
  })

  it('never shows another user’s tasks', async () => {
    const stream = follow('cy')
    await until(() => expect(stream.events).toHaveLength(1))
    await makeTask(sql, { userId: 'dan' })
    const own = await makeTask(sql, { userId: 'cy' })
    stream.bus.publish('cy')
    await until(() => expect(stream.changes()).toEqual([`${own.id} submitted`]))
  })

  it('makes up for a lost hint by looking by itself', async () => {
    const stream = follow('eve', { sweepMs: 20 })
    await until(() => expect(stream.events).toHaveLength(1))
    const task = await makeTask(sql, { userId: 'eve' })
    await until(() => expect(stream.changes()).toEqual([`${task.id} submitted`]))
  })

  it('beats when there is nothing to say', async () => {
    const stream = follow('fay', { heartbeatMs: 10 })
    await until(() => expect(stream.beats()).toBeGreaterThan(2))
    expect(stream.events).toHaveLength(1)
  })

  it('resumes: only what changed since, with the right names', async () => {
    const quiet = await makeRunningTask(sql, { userId: 'gus' })
    const ending = await makeRunningTask(sql, { userId: 'gus' })
    const first = follow('gus')
    await until(() => expect(first.events).toHaveLength(1))
    const cursor = first.events[0]?.id ?? null
    await first.close()
    await settleTask(sql, ending.id, { status: 'cancelled' })

    const second = follow('gus', { cursor })
    await until(() => expect(second.events).toHaveLength(1))
    // With other transactions about, what was known already may come again; what changed always does.
    expect(second.snapshot()).toContain(ending.id)
    await writeProgress(sql, quiet.id, 20)
    second.bus.publish('gus')
    await until(() => expect(second.changes()).toEqual([`${quiet.id} progress`]))
  })

  it('a stream that breaks within a batch resumes without losing the rest of it', async () => {
    const tasks: Task[] = []
    for (let index = 0; index < 3; index++) tasks.push(await makeRunningTask(sql, { userId: 'hal' }))
    let received: { ids: string[]; lastEventId: string | null } = { ids: [], lastEventId: null }
    const broken = follow('hal', {
      send: async (_, data, id) => {
        if ('task' in data && received.ids.length === 1) throw new Error('cut')
        received = {
          ids: 'task' in data ? [...received.ids, data.task.id] : received.ids,
          lastEventId: id ?? received.lastEventId,
        }
      },
    })
    open.pop()
    const cut = expect(broken.done).rejects.toThrow('cut')
    await until(() => expect(received.lastEventId).not.toBeNull())
    await sql.begin(async (tx) => {
      for (const { id } of tasks) await tx`update holdfast.tasks set progress = 50 where id = ${id}`
    })
    broken.bus.publish('hal')
    await cut
    expect(broken.bus.isWatched('hal')).toBe(false)

    const resumed = follow('hal', { cursor: received.lastEventId })
    await until(() => expect(resumed.events).toHaveLength(1))
    const missed = tasks.map(({ id }) => id).filter((id) => !received.ids.includes(id))
    expect(missed).toHaveLength(2)
    expect(resumed.snapshot()).toEqual(expect.arrayContaining(missed))
  })

  it('watches while it runs and not a moment longer', async () => {
    const stream = follow('ida')
    expect(stream.bus.isWatched('ida')).toBe(true)
    await until(() => expect(stream.events).toHaveLength(1))
    await stream.close()
    expect(stream.bus.isWatched('ida')).toBe(false)
  })

  it('a slow reader gets the newest state, not a queue of old ones', async () => {
    const task = await makeRunningTask(sql, { userId: 'jan' })
    let release = () => {}
    const seen: (number | null)[] = []
    let begun = false
    const stream = follow('jan', {
      send: async (_, data) => {
        begun = true
        if (!('task' in data)) return
        seen.push(data.task.progress)
        await new Promise<void>((resolve) => {
          release = resolve
        })
      },
    })
    await until(() => expect(begun).toBe(true))
    await writeProgress(sql, task.id, 1)
    stream.bus.publish('jan')
    await until(() => expect(seen).toEqual([1]))
    for (const progress of [2, 3, 4]) {
      await writeProgress(sql, task.id, progress)
      stream.bus.publish('jan')
    }
    release()
    await until(() => expect(seen).toEqual([1, 4]))
    release()
  })
})
