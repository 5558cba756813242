import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findCreditViolations } from '../../../test/credit-rules.ts'
import { createCreditsWorld, ENDS } from '../../../test/credits-world.ts'
import { dumpTables } from '../../../test/dump-tables.ts'
import { makeRunningTask } from '../../../test/make-task.ts'
import { untold } from '../../../test/record-notices.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import type { Sql } from '../../database/connect.ts'
import { retryDeadLetter } from '../../dead-letters/dead-letters.ts'
import { giveUp } from '../../dead-letters/give-up.ts'
import { findTask } from '../../tasks/find-task.ts'
import { retryTask } from '../../tasks/retry-task.ts'
import { createConversation } from '../conversations/conversations.ts'
import { listMessages } from '../conversations/messages.ts'
import { readBalance } from './read-balance.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterAll(async () => {
  expect(await findCreditViolations(sql)).toEqual([
    // Made so by hand, below.
    expect.stringMatching(/says that 7 are held, and the ledger does not$/),
  ])
  await database.drop()
})

let users = 0
const newUser = () => `user-${++users}`
const heldFor = async (taskId: string) =>
  (await sql`select credits_held::int as held from holdfast.tasks where id = ${taskId}`)[0]?.held

describe('submitting holds the price (F8)', () => {
  it('in the transaction that creates the task', async () => {
    const world = createCreditsWorld(sql)
    const userId = newUser()
    const task = await world.make(userId)
    expect(await world.account(userId)).toEqual({ balance: 96, held: 4 })
    expect(await world.ledger({ userId })).toEqual(['grant 100', 'hold 4'])
    expect(await world.ledger({ taskId: task.id })).toEqual(['hold 4'])
    expect(await heldFor(task.id)).toBe(4)
  })

  it('by the parameters, where the price is a function', async () => {
    const world = createCreditsWorld(sql, { type: { credits: ({ seconds }) => 2 * Number(seconds) } })
    const userId = newUser()
    const task = await world.make(userId, { params: { prompt: 'a fox', seconds: 5 } })
    expect(await world.ledger({ taskId: task.id })).toEqual(['hold 10'])
  })

  it.each([Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY])(
    'a computed price of %d is a refusal: nothing is created',
    async (price) => {
      const world = createCreditsWorld(sql, { type: { credits: () => price } })
      const before = await dumpTables(sql)
      await expect(world.make(newUser())).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
      expect(await dumpTables(sql)).toEqual(before)
    },
  )

  it('what is free is not written into the ledger', async () => {
    const world = createCreditsWorld(sql, { type: { credits: 0 } })
    const userId = newUser()
    const task = await world.make(userId)
    await world.settle(task.id, ENDS.failed)
    expect(await world.account(userId)).toBeUndefined()
  })

  it('is refused with balance and price when there is not enough, and leaves nothing behind', async () => {
    const world = createCreditsWorld(sql, { credits: { initial: 7 } })
    const userId = newUser()
    await world.make(userId)
    const before = await dumpTables(sql)
    await expect(world.make(userId)).rejects.toMatchObject({
      code: 'INSUFFICIENT_CREDITS',
      message: expect.stringMatching(/"image" costs 4 credits and the balance is 3\./),
    })
    expect(await dumpTables(sql)).toEqual(before)
  })

  it('many at once spend no more than there is', async () => {
    const world = createCreditsWorld(sql, { credits: { initial: 14 } })
    const userId = newUser()
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => world.make(userId)))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    expect(await world.account(userId)).toEqual({ balance: 2, held: 12 })
    expect(await world.ledger({ userId })).toEqual(['grant 14', 'hold 4', 'hold 4', 'hold 4'])
  })

  it('a repeated key finds the first task without a second hold, even with nothing left', async () => {
    const world = createCreditsWorld(sql, { credits: { initial: 4 } })
    const userId = newUser()
    const input = { idempotencyKey: 'once' }
    const tasks = await Promise.all(Array.from({ length: 6 }, () => world.make(userId, {}, input)))
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1)
    expect((await world.make(userId, {}, input)).id).toBe(tasks[0]?.id)
    expect(await world.account(userId)).toEqual({ balance: 0, held: 4 })
    expect(await world.ledger({ userId })).toEqual(['grant 4', 'hold 4'])
  })

  it('a key that was refused for want of credits is free for when there are some', async () => {
    const poor = createCreditsWorld(sql, { credits: { initial: 3 } })
    const userId = newUser()
    await expect(poor.make(userId, {}, { idempotencyKey: 'later' })).rejects.toMatchObject({
      code: 'INSUFFICIENT_CREDITS',
    })
    const rich = createCreditsWorld(sql)
    expect(await rich.make(userId, {}, { idempotencyKey: 'later' })).toMatchObject({ status: 'pending' })
  })
})

describe('ending ends the hold (F11, F13)', () => {
  it('completed: it is spent, and the message says what it cost (F12)', async () => {
    const world = createCreditsWorld(sql)
    const userId = newUser()
    const { conversation } = await createConversation(untold(sql), userId, { title: 'foxes' })
    const task = await world.make(userId, { conversationId: conversation.id })
    await world.accept(task.id)
    await world.settle(task.id, ENDS.completed)
    expect(await world.account(userId)).toEqual({ balance: 96, held: 0 })
    expect(await world.ledger({ taskId: task.id })).toEqual(['hold 4', 'capture 4'])
    const { messages } = await listMessages(sql, { userId, conversationId: conversation.id, limit: 10 })
    expect(messages).toMatchObject([{ creditsSpent: 4, taskId: task.id }])
  })

  it('failed or timed out: it comes back once, however many see it', async () => {
    const world = createCreditsWorld(sql)
    const userId = newUser()
    const task = await world.make(userId)
    await world.accept(task.id)
    await Promise.all(Array.from({ length: 8 }, () => world.settle(task.id, ENDS.failed)))
    expect(await world.account(userId)).toEqual({ balance: 100, held: 0 })
    expect(await world.ledger({ taskId: task.id })).toEqual(['hold 4', 'refund 4'])
    const reasons = await sql`
      select kind, reason from holdfast.credit_ledger where task_id = ${task.id} order by kind
    `
    expect(reasons).toMatchObject([{ reason: 'image' }, { reason: 'PROVIDER_FAILED' }])
  })

  it.each([
    ['refund', 'refund 4', 'refund 4'],
    ['capture', 'capture 4', 'capture 4'],
    [undefined, 'refund 4', 'capture 4'],
  ] as const)(
    'cancelled, by the policy %s: %s while waiting, %s once started',
    async (onCancel, waiting, started) => {
      const world = createCreditsWorld(sql, { type: onCancel ? { onCancel } : {} })
      const [first, second] = [await world.make(newUser()), await world.make(newUser())]
      await world.accept(second.id)
      for (const task of [first, second]) await world.settle(task.id, ENDS.cancelled)
      expect(await world.ledger({ taskId: first.id })).toEqual(['hold 4', waiting])
      expect(await world.ledger({ taskId: second.id })).toEqual(['hold 4', started])
    },
  )

  it('cancelled by the provider, which nobody asked for: it comes back', async () => {
    const world = createCreditsWorld(sql, { type: { onCancel: 'capture' } })
    const task = await world.make(newUser())
    await world.accept(task.id)
    await world.settle(task.id, { status: 'cancelled', by: 'provider' })
    expect(await world.ledger({ taskId: task.id })).toEqual(['hold 4', 'refund 4'])
  })

  it('a retry is a task of its own, with a hold of its own', async () => {
    const world = createCreditsWorld(sql, { credits: { initial: 4 } })
    const userId = newUser()
    const task = await world.make(userId)
    const input = { userId, taskId: task.id, idempotencyKey: null, traceId: 'trace' }
    await world.settle(task.id, ENDS.failed)
    const { task: again } = await retryTask(sql, world.submit, input)
    expect(await world.ledger({ taskId: task.id })).toEqual(['hold 4', 'refund 4'])
    expect(await world.ledger({ taskId: again.id })).toEqual(['hold 4'])
    await expect(retryTask(sql, world.submit, input)).rejects.toMatchObject({ code: 'INSUFFICIENT_CREDITS' })
  })

  it('so is the retry of a dead letter', async () => {
    const world = createCreditsWorld(sql)
    const userId = newUser()
    const task = await world.make(userId)
    const letter = { userId, provider: 'nobody', lane: 'free_default', attempts: 2, reason: 'no' }
    await giveUp(world.settle, ENDS.failed, { ...letter, taskId: task.id, kind: 'send' })
    const [found] = await sql<
      { id: string }[]
    >`select id from holdfast.dead_letters where task_id = ${task.id}`
    for (let repeat = 0; repeat < 2; repeat++)
      await retryDeadLetter(untold(sql), world.submit, found?.id ?? '', 'trace')
    expect(await world.account(userId)).toEqual({ balance: 96, held: 4 })
  })

  it('a hold outlives its being switched off: it ends as it should, and nothing new is held', async () => {
    const on = createCreditsWorld(sql)
    const off = createCreditsWorld(sql, { credits: false })
    const userId = newUser()
    const task = await on.make(userId)
    expect(await off.make(userId)).toMatchObject({ status: 'pending' })
    expect(await on.account(userId)).toEqual({ balance: 96, held: 4 })
    await off.settle(task.id, ENDS.failed)
    expect(await on.account(userId)).toEqual({ balance: 100, held: 0 })
  })

  it('a task whose type is no longer offered ends by the ordinary policy', async () => {
    const world = createCreditsWorld(sql)
    const task = await world.make(newUser())
    for (const name of Object.keys(world.types)) delete world.types[name]
    await world.settle(task.id, ENDS.cancelled)
    expect(await world.ledger({ taskId: task.id })).toEqual(['hold 4', 'refund 4'])
  })

  it('a task whose hold is not in the ledger does not end: money is never lost in silence', async () => {
    const world = createCreditsWorld(sql)
    const task = await makeRunningTask(sql)
    await sql`update holdfast.tasks set credits_held = 7 where id = ${task.id}`
    await expect(world.settle(task.id, ENDS.completed)).rejects.toThrow('the ledger has no hold')
    expect(await findTask(sql, 'ada', task.id)).toMatchObject({ status: 'running' })
  })
})

describe('new users', () => {
  it('are given what they begin with once, whatever they do first and however much at once', async () => {
    const world = createCreditsWorld(sql)
    const userId = newUser()
    await Promise.all([
      ...Array.from({ length: 4 }, () => readBalance(sql, userId, 100)),
      ...Array.from({ length: 4 }, () => world.make(userId)),
    ])
    expect(await readBalance(sql, userId, 100)).toEqual({ balance: 84, held: 16 })
    expect(await readBalance(sql, userId, 500)).toEqual({ balance: 84, held: 16 })
  })
})
