import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeRunningTask } from '../../test/make-task.ts'
import { untold } from '../../test/record-notices.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { createTestSettle } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import { createConversation } from '../plugins/conversations/conversations.ts'
import { conversationsPlugin } from '../plugins/conversations/conversations-plugin.ts'
import { createCreditsPlugin } from '../plugins/credits/credits-plugin.ts'
import type { Plugin } from '../plugins/plugin.ts'
import { acceptTask } from '../work/send/accept-task.ts'
import { createTask } from './create-task.ts'
import { findTask } from './find-task.ts'
import type { Settlement } from './settle-task.ts'

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

const output = { url: 'https://p.example/0.png', contentType: 'image/png', urlLifetimeMs: 600_000 }
const completed: Settlement = { status: 'completed', outputs: [output], mirror: true }
const failed: Settlement = {
  status: 'failed',
  failure: { code: 'PROVIDER_FAILED', message: 'It did not work.', retryable: true },
}
const about = (conversationId: string | null, creditsHeld = 0) => ({ about: { creditsHeld, conversationId } })

async function inConversation(userId: string) {
  const { conversation } = await createConversation(untold(sql), userId, { title: 'foxes' })
  return makeRunningTask(sql, { userId, conversationId: conversation.id })
}

const types = scriptedTypes('nobody', { credits: 10 })
const credits = createCreditsPlugin(types, { initial: 100 })
/** A running task that 10 credits are held for. */
async function paid(userId: string) {
  const { task } = await createTask(
    untold(sql),
    types,
    { userId, body: { type: 'image', params: { prompt: 'a fox' } }, idempotencyKey: null, traceId: 'trace' },
    [credits],
  )
  await acceptTask(untold(sql), {
    taskId: task.id,
    externalId: `external-${task.id}`,
    provider: 'nobody',
    deadlineMs: 600_000,
    expectedMs: 10_000,
    firstPollMs: 3_600_000,
    canCancel: false,
  })
  return task
}

describe('a plugin that takes many ends and keeps failing', () => {
  it('does not hold up a task that ends by itself', async () => {
    const broken: Plugin = {
      ...conversationsPlugin,
      async onSettled() {
        throw new Error('always')
      },
      async onSettledMany() {
        throw new Error('always')
      },
    }
    const task = await inConversation('ada')
    const settle = createTestSettle(sql, [broken])
    expect(await settle(task.id, completed, about(task.conversationId))).toMatchObject({ kind: 'settled' })
    expect(await findTask(sql, 'ada', task.id)).toMatchObject({ status: 'completed', saveState: 'failed' })
  })
})

describe('one task that is ended twice at the same moment', () => {
  it.each([
    ['without plugins', null],
    ['with plugins', 'conversation'],
  ])('ends once, by one of the two, %s', async (_, where) => {
    const settle = createTestSettle(sql)
    for (const [first, second] of [
      [completed, failed],
      [failed, completed],
      [completed, completed],
    ] as const) {
      const task = where ? await inConversation('bea') : await makeRunningTask(sql, { userId: 'bea' })
      const results = await Promise.all([
        settle(task.id, first, about(task.conversationId)),
        settle(task.id, second, about(task.conversationId)),
      ])
      expect(results.map(({ kind }) => kind).toSorted()).toEqual(['already-ended', 'settled'])
      const ended = await findTask(sql, 'bea', task.id)
      const files = await sql`select from holdfast.artifacts where task_id = ${task.id}`
      const copies = await sql`select from holdfast.work where task_id = ${task.id} and kind = 'copy'`
      const isCompleted = ended?.status === 'completed' ? 1 : 0
      expect([files.length, copies.length]).toEqual([isCompleted, isCompleted])
    }
  })

  it('does not have the others redone one by one', async () => {
    const settle = createTestSettle(sql)
    const twice = await makeRunningTask(sql, { userId: 'cem' })
    const others = await Promise.all(Array.from({ length: 3 }, () => makeRunningTask(sql, { userId: 'cem' })))
    await Promise.all([twice, twice, ...others].map(({ id }) => settle(id, completed, about(null))))
    // Ended in one transaction: the same moment by the database's clock.
    const moments = await sql`
      select distinct finished_at from holdfast.tasks where id = any(${[twice, ...others].map(({ id }) => id)}::uuid[])
    `
    expect(moments).toHaveLength(1)
  })
})

describe('ends with credits, together', () => {
  it('do not wait for an account that somebody holds', async () => {
    const settle = createTestSettle(sql, [credits, conversationsPlugin])
    const held = await paid('dan')
    const free = await paid('eva')
    await sql`select 1`
    let ended: string[] = []
    await sql.begin(async (tx) => {
      await tx`select from holdfast.credit_accounts where user_id = 'dan' for update`
      const settling = [held, free].map((task) =>
        settle(task.id, completed, about(null, 10)).then(() => void ended.push(task.id)),
      )
      await expect
        .poll(() => ended, { timeout: 1_500, interval: 10 })
        .toEqual([free.id])
        .finally(() => {})
      void settling
    })
    await expect.poll(() => ended, { timeout: 5_000 }).toEqual([free.id, held.id])
    ended = []
    expect(
      await sql`select user_id, balance::int, held::int from holdfast.credit_accounts where user_id in ('dan', 'eva') order by 1`,
    ).toEqual([
      { user_id: 'dan', balance: 90, held: 0 },
      { user_id: 'eva', balance: 90, held: 0 },
    ])
  })

  it('of one user do not wait for a conversation that somebody holds', async () => {
    const settle = createTestSettle(sql)
    const held = await inConversation('fay')
    const free = await inConversation('fay')
    const ended: string[] = []
    await sql.begin(async (tx) => {
      await tx`select from holdfast.conversations where id = ${held.conversationId} for update`
      for (const task of [held, free])
        void settle(task.id, completed, about(task.conversationId)).then(() => ended.push(task.id))
      await expect.poll(() => ended, { timeout: 1_500, interval: 10 }).toEqual([free.id])
    })
    await expect.poll(() => ended, { timeout: 5_000 }).toEqual([free.id, held.id])
  })
})

describe('ends that cost more than was held for them, together', () => {
  it('take no more than their user has, whatever each of them may take', async () => {
    const dear = {
      image: {
        ...types.image,
        allowOverrun: true,
        credits: (_: unknown, usage?: unknown) => (usage ? 60 : 10),
      },
    } as typeof types
    const settle = createTestSettle(sql, [createCreditsPlugin(dear, { initial: 100 })])
    const tasks = await Promise.all([paid('gil'), paid('gil'), paid('gil')])
    const used: Settlement = { ...completed, usage: { seconds: 1 } } as Settlement
    const results = await Promise.all(tasks.map((task) => settle(task.id, used, about(null, 10))))
    expect(results.map(({ kind }) => kind)).toEqual(['settled', 'settled', 'settled'])
    const [account] =
      await sql`select balance::int, held::int from holdfast.credit_accounts where user_id = 'gil'`
    expect(account).toEqual({ balance: 0, held: 0 })
    const ends = await sql`
      select sum(amount)::int as amount, sum(shortfall)::int as shortfall, count(*)::int as count
      from holdfast.credit_ledger where user_id = 'gil' and kind = 'capture'
    `
    expect(ends).toEqual([{ amount: 100, shortfall: 80, count: 3 }])
    const moments = await sql`select distinct finished_at from holdfast.tasks where user_id = 'gil'`
    expect(moments).toHaveLength(1)
  })
})
