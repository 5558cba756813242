import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { queueWork } from '../../../test/queue-work.ts'
import { settleTask } from '../../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { createBatcher } from '../../concurrency/batcher.ts'
import { connect, type Sql } from '../../database/connect.ts'
import { type Rescheduled, reschedulePolls } from './reschedule-polls.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url)
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

async function polls(count: number): Promise<Rescheduled[]> {
  const ids = await queueWork(sql, { provider: 'p', kind: 'poll', count })
  const rows = await sql<{ taskId: string; workId: string; epoch: number }[]>`
    select task_id as "taskId", id::text as "workId", epoch from holdfast.work where task_id = any(${ids}::uuid[])
  `
  return rows.map((row) => ({ ...row, delayMs: 5_000, heard: true }))
}

const rowOf = async ({ taskId }: Rescheduled) => {
  const [row] = await sql`
    select attempts, epoch, silent_since as "silentSince", (extract(epoch from due_at - now()) * 1000)::float8 as "dueMs"
    from holdfast.work where task_id = ${taskId}
  `
  return row
}

describe('reschedulePolls', () => {
  it('sets many due times in one statement, each its own', async () => {
    const batch = (await polls(50)).map((item, index) => ({ ...item, delayMs: 10_000 + index * 1_000 }))
    expect(await reschedulePolls(sql, batch)).toBe(0)
    for (const item of [batch[0], batch[49]]) {
      if (!item) throw new Error('there were fifty')
      const due = (await rowOf(item))?.dueMs
      expect(due).toBeLessThanOrEqual(item.delayMs)
      expect(due).toBeGreaterThan(item.delayMs - 5_000)
    }
  })

  it('refuses and counts those whose claim was taken over, or whose task has ended', async () => {
    const [kept, taken, ended] = await polls(3)
    if (!kept || !taken || !ended) throw new Error('there were three')
    await sql`update holdfast.work set epoch = epoch + 1 where task_id = ${taken.taskId}`
    await settleTask(sql, ended.taskId, { status: 'cancelled' })
    const before = await rowOf(taken)
    expect(await reschedulePolls(sql, [kept, taken, ended])).toBe(2)
    expect(await rowOf(taken)).toMatchObject({ epoch: before?.epoch, attempts: 0 })
    expect((await rowOf(taken))?.dueMs).toBeLessThan(0)
    expect((await rowOf(kept))?.dueMs).toBeGreaterThan(0)
  })

  it('refuses one that was taken over while it waited for the row', async () => {
    const [item] = await polls(1)
    if (!item) throw new Error('there was one')
    let written: Promise<number> | undefined
    await sql.begin(async (tx) => {
      await tx`update holdfast.work set epoch = epoch + 1, due_at = now() where task_id = ${item.taskId}`
      written = reschedulePolls(sql, [item])
      await expect.poll(isWaiting, { timeout: 5_000, interval: 10 }).toBe(true)
    })
    expect(await written).toBe(1)
    expect((await rowOf(item))?.dueMs).toBeLessThanOrEqual(0)
  })

  it('counts polls that told nothing and since when, and forgets both when one does', async () => {
    const [item] = await polls(1)
    if (!item) throw new Error('there was one')
    await reschedulePolls(sql, [{ ...item, heard: false }])
    const first = await rowOf(item)
    expect(first).toMatchObject({ attempts: 1, silentSince: expect.any(Date) })
    await reschedulePolls(sql, [{ ...item, heard: false }])
    expect(await rowOf(item)).toMatchObject({ attempts: 2, silentSince: first?.silentSince })
    // A poll that was handed back says neither.
    await reschedulePolls(sql, [{ ...item, heard: null }])
    expect(await rowOf(item)).toMatchObject({ attempts: 2, silentSince: first?.silentSince })
    await reschedulePolls(sql, [item])
    expect(await rowOf(item)).toMatchObject({ attempts: 0, silentSince: null })
  })

  it('two batches with the same rows in another order do not block each other', async () => {
    const batch = await polls(200)
    const refused = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        reschedulePolls(sql, index % 2 === 0 ? batch : batch.toReversed()),
      ),
    )
    expect(refused).toEqual([0, 0, 0, 0, 0, 0])
  })

  it('is written again where PostgreSQL chose it as the victim of a deadlock', async () => {
    const batch = await polls(20)
    // One before the other both by key and by place, so that every plan locks them in this order.
    const [first, last] = batch.flatMap((item, index) => {
      const later = batch.slice(index + 1).find(({ taskId }) => taskId > item.taskId)
      return later ? [item, later] : []
    })
    if (!first || !last) throw new Error('twenty keys in falling order')
    let refused: Promise<number> | undefined
    await sql.begin(async (tx) => {
      // So that the other one, which waits longer, is the one that finds the circle.
      await tx`set local deadlock_timeout = '20s'`
      await tx`select from holdfast.work where task_id = ${last.taskId} for update`
      refused = reschedulePolls(sql, [first, last])
      await expect.poll(isWaiting, { timeout: 5_000, interval: 10 }).toBe(true)
      await tx`select from holdfast.work where task_id = ${first.taskId} for update`
    })
    expect(await refused).toBe(0)
    expect((await rowOf(first))?.dueMs).toBeGreaterThan(0)
  })

  it('as the write of a batcher, tells how many of a batch were refused', async () => {
    const batch = await polls(4)
    await sql`update holdfast.work set epoch = epoch + 1 where task_id = ${batch[2]?.taskId ?? ''}`
    const counts: number[] = []
    const batcher = createBatcher<Rescheduled>({
      write: async (items) => void counts.push(await reschedulePolls(sql, items)),
      onError: (error) => expect.unreachable(String(error)),
    })
    for (const item of batch) batcher.add(item)
    await batcher.flush()
    expect(counts).toEqual([1])
  })
})

async function isWaiting(): Promise<boolean> {
  const [row] = await sql<{ waiting: boolean }[]>`
    select exists (
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%b.heard%' and pid <> pg_backend_pid()
    ) as waiting
  `
  return row?.waiting ?? false
}
