import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { queueWork } from '../../../test/queue-work.ts'
import { createSweepContext } from '../../../test/sweep-context.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { connect, type Sql } from '../../database/connect.ts'
import { listDeadLetters } from '../../dead-letters/dead-letters.ts'
import { findTask } from '../../tasks/find-task.ts'
import { sweepWaiting } from './sweep-waiting.ts'

const MINUTE = 60_000

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

const waiting = async (ageMs: number, provider = 'scripted') => {
  const [taskId = ''] = await queueWork(sql, { provider, kind: 'send', ageMs })
  return taskId
}
const statusOf = async (taskId: string) => (await findTask(sql, 'ada', taskId))?.status

describe('sweepWaiting', () => {
  it('ends what no provider has taken in time, with a reason for the user and a dead letter', async () => {
    const context = createSweepContext(sql)
    const late = await waiting(31 * MINUTE)
    const inTime = await waiting(29 * MINUTE)
    await sql`update holdfast.provider_jobs set last_error = 'in maintenance' where task_id = ${late}`
    const before = context.published.length
    expect(await sweepWaiting(context)).toBe(1)

    expect(await findTask(sql, 'ada', late)).toMatchObject({
      status: 'failed',
      failure: { code: 'WAIT_EXCEEDED', retryable: true },
    })
    expect(await statusOf(inTime)).toBe('pending')
    expect(context.published.slice(before)).toEqual(['ada'])
    expect(await listDeadLetters(sql, null)).toMatchObject([
      { taskId: late, userId: 'ada', kind: 'send', attempts: 1, reason: 'in maintenance' },
    ])
    expect(await sql`select from holdfast.work where task_id = ${late}`).toHaveLength(0)
    expect(await sweepWaiting(context)).toBe(0)
  })

  it('by the limit of each type', async () => {
    const taskId = await waiting(2_000)
    await sweepWaiting(createSweepContext(sql, { waitLimitMs: 60_000 }))
    expect(await statusOf(taskId)).toBe('pending')
    await sweepWaiting(createSweepContext(sql, { waitLimitMs: 1_000 }))
    expect(await statusOf(taskId)).toBe('failed')
  })

  it('leaves alone what has been sent: its answer is on its way', async () => {
    const taskId = await waiting(31 * MINUTE)
    await sql`update holdfast.provider_jobs set sending_at = now() where task_id = ${taskId}`
    await sweepWaiting(createSweepContext(sql))
    expect(await statusOf(taskId)).toBe('pending')
  })

  it('also what is sent at the very moment of the sweep', async () => {
    const taskId = await waiting(31 * MINUTE)
    let swept: Promise<number> | undefined
    await sql.begin(async (tx) => {
      // What a claim does, slowly.
      await tx`select from holdfast.work where task_id = ${taskId} for update`
      swept = sweepWaiting(createSweepContext(sql))
      await expect.poll(isWaiting, { timeout: 5_000, interval: 10 }).toBe(true)
      await tx`update holdfast.provider_jobs set sending_at = now() where task_id = ${taskId}`
    })
    expect(await swept).toBe(0)
    expect(await statusOf(taskId)).toBe('pending')
    expect(await sql`select from holdfast.work where task_id = ${taskId}`).toHaveLength(1)
  })

  it('and what was claimed anew since the sweep looked', async () => {
    const taskId = await waiting(31 * MINUTE)
    let swept: Promise<number> | undefined
    await sql.begin(async (tx) => {
      await tx`update holdfast.work set epoch = epoch + 1 where task_id = ${taskId}`
      swept = sweepWaiting(createSweepContext(sql))
      await expect.poll(isWaiting, { timeout: 5_000, interval: 10 }).toBe(true)
    })
    expect(await swept).toBe(0)
    expect(await statusOf(taskId)).toBe('pending')
  })
})

async function isWaiting(): Promise<boolean> {
  const [row] = await sql<{ waiting: boolean }[]>`
    select exists (
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%holdfast.work%' and pid <> pg_backend_pid()
    ) as waiting
  `
  return row?.waiting ?? false
}
