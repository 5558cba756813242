import type { Priority } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeTask } from '../../test/make-task.ts'
import { queueWork } from '../../test/queue-work.ts'
import { createScriptedProvider } from '../../test/scripted-provider.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import { ensureBudgets } from './budgets.ts'
import { claimCancels } from './claim-cancels.ts'
import { claimSubmits } from './claim-submits.ts'
import { ALL_LANES } from './lanes.ts'

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

async function newProvider(): Promise<string> {
  const provider = createScriptedProvider()
  await ensureBudgets(sql, provider)
  return provider.name
}

const optionsFor = (provider: string, limit = 1_000) => ({
  provider,
  lanes: ALL_LANES,
  limit,
  replica: 'one',
  inFlight: 0,
  leaseMs: 15_000,
})

/** As if it had been asked for that much earlier. */
const setBack = (taskId: string, ms: number) =>
  sql`update holdfast.work set due_at = due_at - ${ms}::float8 * interval '1 ms' where task_id = ${taskId}`

async function inTurn(provider: string): Promise<string[]> {
  const turns: string[] = []
  for (;;) {
    const [work] = await claimSubmits(sql, optionsFor(provider, 1))
    if (!work) return turns
    turns.push(work.taskId)
  }
}

describe('priority is a head start within a lane (Q1)', () => {
  it('the more urgent goes first, the earlier among equals', async () => {
    const provider = await newProvider()
    const made: Record<string, string> = {}
    for (const priority of ['low', 'normal', 'high', 'urgent'] satisfies Priority[]) {
      made[priority] = (await makeTask(sql, { provider, priority })).id
      made[`${priority} again`] = (await makeTask(sql, { provider, priority })).id
    }
    const names = Object.fromEntries(Object.entries(made).map(([name, id]) => [id, name]))
    expect((await inTurn(provider)).map((id) => names[id])).toEqual([
      'urgent',
      'urgent again',
      'high',
      'high again',
      'normal',
      'normal again',
      'low',
      'low again',
    ])
  })

  it('and no more than that: who has waited long enough is not passed for ever', async () => {
    const provider = await newProvider()
    const patient = await makeTask(sql, { provider, priority: 'low' })
    const lately = await makeTask(sql, { provider, priority: 'low' })
    await setBack(patient.id, 30_000)
    await setBack(lately.id, 10_000)
    const urgent = await makeTask(sql, { provider, priority: 'urgent' })
    expect(await inTurn(provider)).toEqual([patient.id, urgent.id, lately.id])
  })

  it('is not lag: a new task is not late', async () => {
    const provider = await newProvider()
    await makeTask(sql, { provider, priority: 'urgent' })
    const [work] = await claimSubmits(sql, optionsFor(provider))
    expect(work?.lagMs).toBeLessThan(5_000)
  })
})

describe('a claimed step', () => {
  it('brings what is needed to send the task, and comes due again if its process dies', async () => {
    const provider = await newProvider()
    const task = await makeTask(sql, { provider, maxAttempts: 7, userId: 'grace' })
    expect(await claimSubmits(sql, optionsFor(provider))).toMatchObject([
      {
        taskId: task.id,
        userId: 'grace',
        type: 'image',
        params: { prompt: 'a fox' },
        lane: 'free_default',
        attempts: 0,
        maxAttempts: 7,
        epoch: 1,
        sendingAt: null,
        traceId: 'trace',
      },
    ])
    const [row] = await sql<{ dueMs: number }[]>`
      select (extract(epoch from due_at - now()) * 1000)::float8 as "dueMs" from holdfast.work where task_id = ${task.id}
    `
    expect(row?.dueMs).toBeGreaterThan(10_000)
    expect(row?.dueMs).toBeLessThanOrEqual(15_000)
    expect(await claimSubmits(sql, optionsFor(provider))).toEqual([])
  })

  it('brings what is needed to stop a task at its provider', async () => {
    const provider = await newProvider()
    const [taskId] = await queueWork(sql, { provider, kind: 'cancel', lane: 'vip_long' })
    expect(await claimCancels(sql, optionsFor(provider))).toMatchObject([
      { taskId, externalId: `external-${taskId}`, lane: 'vip_long', attempts: 0, maxAttempts: 3, epoch: 1 },
    ])
    expect(await claimCancels(sql, optionsFor(provider))).toEqual([])
  })
})
