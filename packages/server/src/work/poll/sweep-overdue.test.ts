import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeRunningTask } from '../../../test/make-task.ts'
import { createSweepContext } from '../../../test/sweep-context.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { connect, type Sql } from '../../database/connect.ts'
import { findTask } from '../../tasks/find-task.ts'
import { sweepOverdue } from './sweep-overdue.ts'

const HOUR = 3_600_000

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

/** A running task whose deadline passed that long ago, with its next poll an hour away. */
async function overdueBy(ms: number): Promise<string> {
  const task = await makeRunningTask(sql)
  // The deadline is after the start, so both are moved.
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx`
      update holdfast.tasks set created_at = created_at - interval '3 days', started_at = started_at - interval '3 days',
        deadline_at = now() - ${ms}::float8 * interval '1 ms'
      where id = ${task.id}
    `
  })
  return task.id
}

const workOf = async (taskId: string) => {
  const [row] = await sql<{ epoch: number; dueMs: number }[]>`
    select epoch, (extract(epoch from due_at - now()) * 1000)::float8 as "dueMs" from holdfast.work where task_id = ${taskId}
  `
  return row
}

describe('sweepOverdue', () => {
  it('polls a task past its deadline now, and does not fail it', async () => {
    const taskId = await overdueBy(1_000)
    const early = await overdueBy(-60_000)
    expect(await sweepOverdue(createSweepContext(sql))).toBe(1)
    expect((await findTask(sql, 'ada', taskId))?.status).toBe('running')
    const work = await workOf(taskId)
    expect(work?.dueMs).toBeLessThanOrEqual(0)
    // A due time that is just being written does not undo it.
    expect(work?.epoch).toBe(1)
    expect((await workOf(early))?.dueMs).toBeGreaterThan(HOUR / 2)
    expect(await sweepOverdue(createSweepContext(sql))).toBe(0)
  })

  it('does not hurry what is due soon, or tells nothing anyway', async () => {
    const soon = await overdueBy(1_000)
    await sql`update holdfast.work set due_at = now() + interval '4 s' where task_id = ${soon}`
    const silent = await overdueBy(1_000)
    await sql`update holdfast.work set silent_since = now() where task_id = ${silent}`
    expect(await sweepOverdue(createSweepContext(sql))).toBe(0)
    expect((await workOf(soon))?.epoch).toBe(0)
    expect((await workOf(silent))?.dueMs).toBeGreaterThan(HOUR / 2)
  })

  it('gives a task up a day past its deadline, even though no poll told anything', async () => {
    const almost = await overdueBy(23.9 * HOUR)
    const lost = await overdueBy(24.1 * HOUR)
    const context = createSweepContext(sql)
    await sweepOverdue(context)
    expect((await findTask(sql, 'ada', almost))?.status).toBe('running')
    expect(await findTask(sql, 'ada', lost)).toMatchObject({
      status: 'failed',
      failure: { code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('retry') },
    })
    expect(await workOf(lost)).toBeUndefined()
    expect(context.published).toEqual(['ada'])
  })

  it.each([
    ['was claimed', 'update holdfast.work set epoch = epoch + 1 where task_id = $1'],
    [
      'was given more time',
      "update holdfast.tasks set deadline_at = now() + interval '1 hour' where id = $1",
    ],
  ])('leaves a task alone that %s after it was read', async (_, change) => {
    const taskId = await overdueBy(24.1 * HOUR)
    const context = createSweepContext(sql)
    await sweepOverdue({
      ...context,
      settle: async (...asked) => {
        await sql.unsafe(change, [taskId])
        return context.settle(...asked)
      },
    })
    expect((await findTask(sql, 'ada', taskId))?.status).toBe('running')
    expect(context.published).toEqual([])
    expect(context.logLines.join('')).not.toContain('given up')
    await sql`delete from holdfast.tasks where id = ${taskId}`
  })

  it('gives a task up that has lost its work', async () => {
    const lost = await overdueBy(24.1 * HOUR)
    await sql`delete from holdfast.work where task_id = ${lost}`
    await sweepOverdue(createSweepContext(sql))
    expect((await findTask(sql, 'ada', lost))?.status).toBe('failed')
  })
})
