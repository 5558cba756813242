import type { Priority } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimCancels, claimSends } from '../../../test/claim-works.ts'
import { makeTask } from '../../../test/make-task.ts'
import { queueWork } from '../../../test/queue-work.ts'
import { untold } from '../../../test/record-notices.ts'
import { createScriptedProvider } from '../../../test/scripted-provider.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { connect, type Sql } from '../../database/connect.ts'
import { ensureBudgets } from '../../engine/budgets.ts'
import { ALL_LANES } from '../../engine/lanes.ts'
import { unmarkSending } from './unmark-sending.ts'

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
  types: ['image', 'video'],
})

async function inTurn(provider: string): Promise<string[]> {
  const turns: string[] = []
  for (;;) {
    const [work] = await claimSends(sql, optionsFor(provider, 1))
    if (!work) return turns
    turns.push(work.taskId)
  }
}

describe('the mark of a send', () => {
  it('is taken back by whoever set it, and never one that was set later', async () => {
    const provider = await newProvider()
    const { id } = await makeTask(sql, { provider })
    const how = { delayMs: 0, countAttempt: true, reason: 'not now' }
    const claim = async () => {
      const [work] = await claimSends(sql, optionsFor(provider))
      if (!work) throw new Error('nothing was claimed')
      return work
    }
    const first = await claim()
    expect(await unmarkSending(untold(sql), id, first, how)).toBe(true)
    const second = await claim()
    expect(second).toMatchObject({ isMarked: true, attempts: 1 })
    // Said again, because the answer to the first time was lost: by now another create is under way.
    expect(await unmarkSending(untold(sql), id, first, how)).toBe(false)
    expect(
      await sql`select sending_at is not null as marked from holdfast.provider_jobs where task_id = ${id}`,
    ).toEqual([{ marked: true }])
    expect(await unmarkSending(untold(sql), id, second, how)).toBe(true)
  })
})

describe('the order of claims within a lane', () => {
  it('is by priority, the earlier first among equals', async () => {
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

  it('is fair among users: the first task of each goes before the second of any', async () => {
    const provider = await newProvider()
    const make = async (userId: string) => (await makeTask(sql, { provider, userId })).id
    const ofAda = [await make('ada'), await make('ada'), await make('ada'), await make('ada')]
    const ofBob = [await make('bob'), await make('bob')]
    const ofEve = [await make('eve')]
    expect(await inTurn(provider)).toEqual([
      ofAda[0],
      ofBob[0],
      ofEve[0],
      ofAda[1],
      ofBob[1],
      ofAda[2],
      ofAda[3],
    ])
  })

  it('lets at most two more of a user with many go before the first of another', async () => {
    const provider = await newProvider()
    const make = async (userId: string) => (await makeTask(sql, { provider, userId })).id
    const ofAda: string[] = []
    for (let index = 0; index < 30; index += 1) ofAda.push(await make('ada'))
    for (let index = 0; index < 12; index += 1) await claimSends(sql, optionsFor(provider, 1))
    // Those that were claimed are gone, as after their acceptance.
    await sql`delete from holdfast.work where provider = ${provider} and epoch > 0`
    const ofBob = await make('bob')
    expect((await inTurn(provider)).indexOf(ofBob)).toBeLessThanOrEqual(2)
  })

  it('passes over what is put off, and comes back to it in its old turn', async () => {
    const provider = await newProvider()
    const first = await makeTask(sql, { provider, userId: 'ada' })
    const second = await makeTask(sql, { provider, userId: 'ada' })
    const third = await makeTask(sql, { provider, userId: 'ada' })
    await sql`update holdfast.work set due_at = now() + interval '1 h' where task_id = ${first.id}`
    expect((await claimSends(sql, optionsFor(provider, 1)))[0]?.taskId).toBe(second.id)
    await sql`update holdfast.work set due_at = now() where task_id = ${first.id}`
    expect(await inTurn(provider)).toEqual([first.id, third.id])
  })

  it('is not lag: a new task is not late', async () => {
    const provider = await newProvider()
    await makeTask(sql, { provider, priority: 'urgent' })
    const [work] = await claimSends(sql, optionsFor(provider))
    expect(work?.lagMs).toBeLessThan(5_000)
  })
})

describe('a claimed step', () => {
  it('brings what is needed to send the task, and comes due again if its process dies', async () => {
    const provider = await newProvider()
    const task = await makeTask(sql, { provider, maxAttempts: 7, userId: 'grace' })
    expect(await claimSends(sql, optionsFor(provider))).toMatchObject([
      {
        taskId: task.id,
        userId: 'grace',
        type: 'image',
        params: { prompt: 'a fox' },
        lane: 'free_default',
        attempts: 0,
        maxAttempts: 7,
        epoch: 1,
        isMarked: true,
        sendingAt: null,
        traceId: 'trace',
      },
    ])
    const [row] = await sql<{ dueMs: number }[]>`
      select (extract(epoch from due_at - now()) * 1000)::float8 as "dueMs" from holdfast.work where task_id = ${task.id}
    `
    expect(row?.dueMs).toBeGreaterThan(10_000)
    expect(row?.dueMs).toBeLessThanOrEqual(15_000)
    expect(await claimSends(sql, optionsFor(provider))).toEqual([])
  })

  it('is marked as being sent, once and for all', async () => {
    const provider = await newProvider()
    const task = await makeTask(sql, { provider })
    const claims = await Promise.all(
      Array.from({ length: 8 }, () => claimSends(sql, { ...optionsFor(provider), leaseMs: 0 })),
    )
    expect(claims.flat().filter(({ isMarked }) => isMarked)).toHaveLength(1)
    const [later] = await claimSends(sql, optionsFor(provider))
    expect(later).toMatchObject({ taskId: task.id, isMarked: false, sendingAt: expect.any(Date) })
  })

  it('of a type that is no longer offered is not marked', async () => {
    const provider = await newProvider()
    await makeTask(sql, { provider })
    const [work] = await claimSends(sql, { ...optionsFor(provider), types: ['video'] })
    expect(work).toMatchObject({ isMarked: false, sendingAt: null })
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
