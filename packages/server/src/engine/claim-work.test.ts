import { LANES } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import type { Sql } from '../database/connect.ts'
import { claimWork, type WorkKind } from './claim-work.ts'
import { hastenPolls } from './hasten-polls.ts'
import { rescheduleWork } from './reschedule-work.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterAll(() => database.drop())

const claim = (provider: string, limit = 100, kinds: WorkKind[] = ['submit', 'poll', 'cancel']) =>
  claimWork(sql, { kinds, providers: [provider], limit, leaseMs: 30_000 })
const dueMs = async (workId: string | undefined) =>
  (
    await sql<{ ms: number }[]>`
      select (extract(epoch from due_at - now()) * 1000)::float8 as ms from holdfast.work where id = ${workId ?? '0'}
    `
  )[0]?.ms

describe('claiming', () => {
  it('brings what its runner needs, raises the epoch and sets the next due time', async () => {
    const task = await makeTask(sql, { userId: 'ada', provider: 'one', params: { prompt: 'a fox', n: 2 } })
    const [work, ...more] = await claim('one')
    expect(more).toEqual([])
    expect(work).toMatchObject({
      kind: 'submit',
      epoch: 1,
      attempts: 0,
      polls: 0,
      taskId: task.id,
      userId: 'ada',
      provider: 'one',
      status: 'pending',
      params: { prompt: 'a fox', n: 2 },
      maxAttempts: 3,
      externalId: null,
      sendingAt: null,
      traceId: 'trace',
      overdueMs: null,
    })
    expect(await dueMs(work?.workId)).toBeGreaterThan(25_000)
    expect(await claim('one')).toEqual([])
  })

  it('gives each step to one of many who ask at once', async () => {
    await Promise.all(Array.from({ length: 40 }, () => makeTask(sql, { provider: 'two' })))
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim('two', 10)))
    const rest = await claim('two')
    const ids = [...claims.flat(), ...rest].map(({ workId }) => workId)
    expect(ids).toHaveLength(40)
    expect(new Set(ids).size).toBe(40)
  })

  it('takes no more than asked for, what has been due longest first', async () => {
    const tasks = []
    for (let index = 0; index < 5; index++) tasks.push(await makeTask(sql, { provider: 'three' }))
    for (const [index, task] of tasks.entries())
      await sql`update holdfast.work set due_at = now() - ${index} * interval '1 s' where task_id = ${task.id}`
    const claimed = await claim('three', 2)
    expect(claimed.map(({ taskId }) => taskId).sort()).toEqual([tasks[4]?.id, tasks[3]?.id].sort())
  })

  it('leaves alone what is not due, of another kind, or another provider’s', async () => {
    await makeRunningTask(sql, { provider: 'four' })
    const due = await makeTask(sql, { provider: 'four' })
    await makeTask(sql, { provider: 'five' })
    expect(await claim('four', 100, ['poll'])).toEqual([])
    expect((await claim('four')).map(({ taskId }) => taskId)).toEqual([due.id])
  })

  it('takes from every lane', async () => {
    for (const lane of LANES) {
      const task = await makeTask(sql, { provider: 'six' })
      await sql`update holdfast.work set lane = ${lane} where task_id = ${task.id}`
    }
    expect(await claim('six')).toHaveLength(LANES.length)
  })

  it('counts polls, and says how old and how overdue a task is', async () => {
    const task = await makeRunningTask(sql, { provider: 'seven', deadlineMs: 1 })
    await sql`update holdfast.provider_jobs set accepted_at = now() - interval '90 s' where task_id = ${task.id}`
    for (const polls of [1, 2]) {
      await sql`update holdfast.work set due_at = now() where task_id = ${task.id}`
      const [work] = await claim('seven')
      expect(work).toMatchObject({ polls, epoch: polls, externalId: `external-${task.id}` })
      expect(work?.ageMs).toBeGreaterThanOrEqual(90_000)
      expect(work?.overdueMs).toBeGreaterThan(0)
    }
  })
})

describe('rescheduling', () => {
  it('moves what is still claimed and leaves what was taken over', async () => {
    const kept = await makeTask(sql, { provider: 'eight' })
    const lost = await makeTask(sql, { provider: 'eight' })
    const claimed = await claim('eight')
    const of = (taskId: string) => claimed.find((work) => work.taskId === taskId)
    await sql`update holdfast.work set epoch = epoch + 1 where task_id = ${lost.id}`
    await rescheduleWork(
      sql,
      claimed.map(({ workId, epoch }) => ({ workId, epoch, delayMs: 1_000 })),
    )
    expect(await dueMs(of(kept.id)?.workId)).toBeLessThanOrEqual(1_000)
    expect(await dueMs(of(lost.id)?.workId)).toBeGreaterThan(20_000)
  })
})

describe('hastening for somebody who begins to watch', () => {
  it('brings that user’s polls forward, to no less than the provider’s minimum, and nobody else’s', async () => {
    const own = await makeRunningTask(sql, { userId: 'watcher', provider: 'nine' })
    const others = await makeRunningTask(sql, { userId: 'other', provider: 'nine' })
    const soon = await makeRunningTask(sql, { userId: 'watcher', provider: 'nine' })
    await sql`update holdfast.work set due_at = now() where task_id = ${soon.id}`
    await hastenPolls(sql, 'watcher', 2_000)
    const rows = await sql<{ taskId: string; ms: number }[]>`
      select task_id as "taskId", (extract(epoch from due_at - now()) * 1000)::float8 as ms from holdfast.work where provider = 'nine'
    `
    const ms = (id: string) => rows.find(({ taskId }) => taskId === id)?.ms ?? Number.NaN
    expect(ms(own.id)).toBeGreaterThan(1_000)
    expect(ms(own.id)).toBeLessThanOrEqual(2_000)
    expect(ms(others.id)).toBeGreaterThan(3_000_000)
    expect(ms(soon.id)).toBeLessThanOrEqual(0)
  })

  it('is not undone by a due time that was decided before', async () => {
    const task = await makeRunningTask(sql, { userId: 'late', provider: 'ten' })
    await sql`update holdfast.work set due_at = now() where task_id = ${task.id}`
    const [work] = await claim('ten')
    await hastenPolls(sql, 'late', 2_000)
    await rescheduleWork(sql, [{ workId: work?.workId ?? '', epoch: work?.epoch ?? 0, delayMs: 30_000 }])
    expect(await dueMs(work?.workId)).toBeLessThanOrEqual(2_000)
  })
})
