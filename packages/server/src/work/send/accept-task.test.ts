import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeTask } from '../../../test/make-task.ts'
import { markSending } from '../../../test/mark-sending.ts'
import { untold } from '../../../test/record-notices.ts'
import { createTestSettle, settleTask } from '../../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import type { Sql } from '../../database/connect.ts'
import { cancelTask } from '../../tasks/cancel-task.ts'
import { findTask } from '../../tasks/find-task.ts'
import type { Settlement } from '../../tasks/settle-task.ts'
import { type Acceptance, acceptTask } from './accept-task.ts'
import { unmarkSending } from './unmark-sending.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterAll(() => database.drop())

const accepted = (taskId: string, changes: Partial<Acceptance> = {}): Acceptance => ({
  taskId,
  externalId: `external-${taskId}`,
  provider: 'nobody',
  deadlineMs: 600_000,
  expectedMs: 10_000,
  firstPollMs: 2_000,
  canCancel: true,
  ...changes,
})
const workOf = (taskId: string) =>
  sql<{ id: string; kind: string; epoch: number; due: number }[]>`
    select id::text, kind, epoch, (extract(epoch from due_at - now()) * 1000)::float8 as due
    from holdfast.work where task_id = ${taskId} order by kind
  `
const jobOf = async (taskId: string) =>
  (
    await sql<
      { external: string | null; sending: boolean; error: string | null }[]
    >`select external_id as external, sending_at is not null as sending, last_error as error from holdfast.provider_jobs where task_id = ${taskId}`
  )[0]

describe('acceptance', () => {
  it('starts the task, its deadline and its polling, and writes the external id down', async () => {
    const { id } = await makeTask(sql)
    expect(await acceptTask(untold(sql), accepted(id))).toEqual({ kind: 'running', userId: 'ada' })
    const task = await findTask(sql, 'ada', id)
    expect(task).toMatchObject({ status: 'running', progress: null })
    const startedAt = Date.parse(task?.startedAt ?? '')
    expect(Date.parse(task?.deadlineAt ?? '') - startedAt).toBe(600_000)
    expect(Date.parse(task?.estimatedAt ?? '') - startedAt).toBe(10_000)
    const work = await workOf(id)
    expect(work).toMatchObject([{ kind: 'poll' }])
    expect(work[0]?.due).toBeGreaterThan(0)
    expect(work[0]?.due).toBeLessThanOrEqual(2_000)
    expect(await jobOf(id)).toMatchObject({ external: `external-${id}` })
  })

  it('is written once: heard again, because the answer to the first writing was lost, it changes nothing', async () => {
    const { id } = await makeTask(sql)
    await acceptTask(untold(sql), accepted(id))
    const before = await findTask(sql, 'ada', id)
    for (const externalId of [`external-${id}`, 'another'])
      expect(await acceptTask(untold(sql), accepted(id, { externalId }))).toEqual({
        kind: 'running',
        userId: 'ada',
      })
    expect(await findTask(sql, 'ada', id)).toEqual(before)
    expect(await jobOf(id)).toMatchObject({ external: `external-${id}` })
    expect(await workOf(id)).toMatchObject([{ kind: 'poll' }])
  })

  it('a task that ended meanwhile keeps its end, and the provider is asked to stop', async () => {
    const { id } = await makeTask(sql)
    await cancelTask(sql, createTestSettle(sql, undefined, { canCancel: () => true }), 'ada', id)
    expect(await workOf(id)).toEqual([])
    expect(await acceptTask(untold(sql), accepted(id))).toEqual({ kind: 'ended-meanwhile', userId: null })
    expect(await findTask(sql, 'ada', id)).toMatchObject({ status: 'cancelled' })
    expect(await jobOf(id)).toMatchObject({ external: `external-${id}` })
    expect(await workOf(id)).toMatchObject([{ kind: 'cancel' }])
  })

  it.each<[string, Settlement]>([
    ['completed', { status: 'completed', outputs: [] }],
    [
      'failed at its provider',
      {
        status: 'failed',
        failure: { code: 'PROVIDER_FAILED', message: 'It did not work.', retryable: true },
      },
    ],
  ])('written again after the task has %s, it asks nobody to stop', async (_, settlement) => {
    const { id } = await makeTask(sql)
    await acceptTask(untold(sql), accepted(id))
    await settleTask(sql, id, settlement)
    expect(await acceptTask(untold(sql), accepted(id))).toEqual({ kind: 'ended-meanwhile', userId: null })
    expect(await workOf(id)).toEqual([])
  })

  it('a cancelled task is stopped at its provider once, though its acceptance is written again', async () => {
    const { id } = await makeTask(sql)
    await acceptTask(untold(sql), accepted(id))
    await cancelTask(sql, createTestSettle(sql, undefined, { canCancel: () => true }), 'ada', id)
    await sql`delete from holdfast.work where task_id = ${id} and kind = 'cancel'`
    expect(await acceptTask(untold(sql), accepted(id))).toEqual({ kind: 'ended-meanwhile', userId: null })
    expect(await workOf(id)).toEqual([])
  })

  it('a provider that cannot cancel is not asked to', async () => {
    const { id } = await makeTask(sql)
    await cancelTask(sql, createTestSettle(sql), 'ada', id)
    await acceptTask(untold(sql), accepted(id, { canCancel: false }))
    expect(await workOf(id)).toEqual([])
    expect(await jobOf(id)).toMatchObject({ external: `external-${id}` })
  })
})

describe('the sending mark', () => {
  async function claimed() {
    const { id } = await makeTask(sql)
    const [work] = await workOf(id)
    return { id, fence: { workId: work?.id ?? '', epoch: work?.epoch ?? 0 } }
  }

  it('is taken back only by the holder of the claim, and then can be given again', async () => {
    const { id, fence } = await claimed()
    await markSending(sql, id, fence)
    const later = { delayMs: 5_000, countAttempt: true, reason: 'busy' }
    expect(await unmarkSending(untold(sql), id, { ...fence, epoch: fence.epoch + 1 }, later)).toBe(false)
    expect(await jobOf(id)).toMatchObject({ sending: true, error: null })
    expect(await unmarkSending(untold(sql), id, fence, later)).toBe(true)
    expect(await jobOf(id)).toMatchObject({ sending: false, error: 'busy' })
    expect((await workOf(id))[0]?.due).toBeGreaterThan(1_000)
    expect(await markSending(sql, id, fence)).toBe(true)
  })

  it('is taken back once: said again, because the answer to the first time was lost, it counts no second attempt', async () => {
    const { id, fence } = await claimed()
    await markSending(sql, id, fence)
    const later = { delayMs: 5_000, countAttempt: true, reason: 'busy', lastError: 'They are busy.' }
    expect(await unmarkSending(untold(sql), id, fence, later)).toBe(true)
    const before = await findTask(sql, 'ada', id)
    expect(await unmarkSending(untold(sql), id, fence, later)).toBe(false)
    expect(before).toMatchObject({ attempts: 1, lastError: 'They are busy.' })
    expect(await findTask(sql, 'ada', id)).toEqual(before)
    const [work] = await sql`select attempts from holdfast.work where task_id = ${id}`
    expect(work).toEqual({ attempts: 1 })
  })
})
