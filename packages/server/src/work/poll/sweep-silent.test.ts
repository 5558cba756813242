import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeRunningTask } from '../../../test/make-task.ts'
import { createMemoryLog } from '../../../test/memory-log.ts'
import { receiveWebhooks } from '../../../test/receive-webhooks.ts'
import { createSweepContext } from '../../../test/sweep-context.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { createAlerts } from '../../alerts/create-alerts.ts'
import { connect, type Sql } from '../../database/connect.ts'
import { findTask } from '../../tasks/find-task.ts'
import { sweepSilent } from './sweep-silent.ts'

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

async function silentFor(ms: number): Promise<string> {
  const task = await makeRunningTask(sql)
  await sql`update holdfast.work set silent_since = now() - ${ms}::float8 * interval '1 ms' where task_id = ${task.id}`
  return task.id
}

const workOf = async (taskId: string) => {
  const [row] = await sql<{ epoch: number; dueMs: number }[]>`
    select epoch, (extract(epoch from due_at - now()) * 1000)::float8 as "dueMs" from holdfast.work where task_id = ${taskId}
  `
  return row
}
const heardAgain = (taskId: string) =>
  sql`update holdfast.work set silent_since = null where task_id = ${taskId}`

describe('sweepSilent, the watchdog', () => {
  it('lets tasks be of which something was heard, or that are silent for a while only', async () => {
    const heard = (await makeRunningTask(sql)).id
    const short = await silentFor(119 * MINUTE)
    const context = createSweepContext(sql)
    expect(await sweepSilent(context)).toBe(0)
    expect((await workOf(heard))?.epoch).toBe(0)
    expect((await workOf(short))?.epoch).toBe(0)
    expect(context.alerts).toEqual([])
    await heardAgain(short)
  })

  it('first alerts and polls once more, now', async () => {
    const taskId = await silentFor(121 * MINUTE)
    const context = createSweepContext(sql)
    expect(await sweepSilent(context)).toBe(1)
    expect(context.alerts).toMatchObject([
      { name: 'task-silent', key: 'image', details: { taskId, traceId: 'trace' } },
    ])
    expect((await findTask(sql, 'ada', taskId))?.status).toBe('running')
    const work = await workOf(taskId)
    expect(work?.dueMs).toBeLessThanOrEqual(0)
    expect(work?.epoch).toBe(1)
    await heardAgain(taskId)
  })

  it('then fails it, with a reason for the user', async () => {
    const taskId = await silentFor(126 * MINUTE)
    const context = createSweepContext(sql)
    expect(await sweepSilent(context)).toBe(1)
    expect(await findTask(sql, 'ada', taskId)).toMatchObject({
      status: 'failed',
      failure: { code: 'SILENT_TOO_LONG', message: expect.stringContaining('timed out'), retryable: true },
    })
    expect(await workOf(taskId)).toBeUndefined()
    expect(context.published).toEqual(['ada'])
    expect(await sweepSilent(context)).toBe(0)
  })

  it('or lets it go on, where the type says so', async () => {
    const taskId = await silentFor(500 * MINUTE)
    const context = createSweepContext(sql, { whenSilent: 'keep' })
    await sweepSilent(context)
    expect((await findTask(sql, 'ada', taskId))?.status).toBe('running')
    expect((await workOf(taskId))?.dueMs).toBeLessThanOrEqual(0)
    expect(context.alerts).toHaveLength(1)
    await heardAgain(taskId)
  })

  it('alerts once an hour for all tasks of a type, in the log and in the chat, not every minute for each', async () => {
    const ids = await Promise.all([silentFor(500 * MINUTE), silentFor(501 * MINUTE), silentFor(502 * MINUTE)])
    const chat = await receiveWebhooks(() => 200)
    const { log, lines } = createMemoryLog()
    let nowMs = 0
    const { alert, close } = createAlerts({ log, now: () => nowMs, webhook: { url: chat.url } })
    try {
      for (let minute = 0; minute < 60; minute++) {
        nowMs = minute * MINUTE
        expect(await sweepSilent({ ...createSweepContext(sql, { whenSilent: 'keep' }), log, alert })).toBe(3)
      }
      await vi.waitFor(() => expect(chat.calls).toHaveLength(1))
      expect(chat.calls[0]?.body).toContain('tasks: 3')
      expect(lines.filter((line) => line.includes('CRITICAL'))).toHaveLength(1)
      nowMs = 60 * MINUTE
      await sweepSilent({ ...createSweepContext(sql, { whenSilent: 'keep' }), log, alert })
      await vi.waitFor(() => expect(chat.calls).toHaveLength(2))
    } finally {
      await close()
      await chat.close()
      for (const id of ids) await heardAgain(id)
    }
  })

  it('by the patience of each type', async () => {
    const taskId = await silentFor(2 * MINUTE)
    expect(await sweepSilent(createSweepContext(sql, { silentAfterMs: 3 * MINUTE }))).toBe(0)
    expect(await sweepSilent(createSweepContext(sql, { silentAfterMs: MINUTE }))).toBe(1)
    await heardAgain(taskId)
  })

  it('does not end a task whose poll was just claimed: that one may be heard of', async () => {
    const taskId = await silentFor(126 * MINUTE)
    let swept: Promise<number> | undefined
    await sql.begin(async (tx) => {
      await tx`update holdfast.work set epoch = epoch + 1 where task_id = ${taskId}`
      swept = sweepSilent(createSweepContext(sql))
      await expect
        .poll(
          async () =>
            (
              await sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
            ).length,
          {
            timeout: 5_000,
            interval: 10,
          },
        )
        .toBe(1)
    })
    await swept
    expect((await findTask(sql, 'ada', taskId))?.status).toBe('running')
  })
})
