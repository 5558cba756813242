import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { findCreditViolations } from '../../../test/credit-rules.ts'
import { createCreditsWorld, ENDS } from '../../../test/credits-world.ts'
import { dumpTables } from '../../../test/dump-tables.ts'
import { untold } from '../../../test/record-notices.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import type { Sql } from '../../database/connect.ts'
import { createCredits } from './credits.ts'
import { giveBack } from './give-back.ts'
import { auditEntries, listEntries } from './list-entries.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterAll(async () => {
  expect(await findCreditViolations(sql)).toEqual([])
  await database.drop()
})

let users = 0
const newUser = () => `user-${++users}`

describe('granting', () => {
  it('gives once per user and key, however often and however many at once', async () => {
    const credits = createCredits(sql, {})
    const [one, two] = [newUser(), newUser()]
    const why = { reason: 'invoice 17', key: 'payment-17' }
    const entries = await Promise.all(Array.from({ length: 6 }, () => credits.grant(one, 500, why)))
    expect(new Set(entries.map(({ id }) => id)).size).toBe(1)
    expect(entries[0]).toEqual({
      id: expect.any(String),
      kind: 'grant',
      amount: 500,
      released: 0,
      taskId: null,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    await credits.grant(two, 500, why)
    await credits.grant(one, 1, { ...why, key: 'payment-18' })
    expect(await credits.balance(one)).toEqual({ balance: 501, held: 0 })
    expect(await credits.balance(two)).toEqual({ balance: 500, held: 0 })
  })

  it('comes on top of what a new user is given', async () => {
    const credits = createCredits(sql, { initial: 100 })
    const userId = newUser()
    await credits.grant(userId, 5, { reason: 'welcome', key: 'welcome' })
    expect(await credits.balance(userId)).toEqual({ balance: 105, held: 0 })
  })

  it('a key that was used for another amount is refused', async () => {
    const credits = createCredits(sql, {})
    const userId = newUser()
    await credits.grant(userId, 5, { reason: 'x', key: 'k' })
    const before = await dumpTables(sql)
    await expect(credits.grant(userId, 6, { reason: 'x', key: 'k' })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
    })
    expect(await dumpTables(sql)).toEqual(before)
  })

  it.each<[string, [string, number, { reason: string; key: string }]]>([
    ['no user', ['', 5, { reason: 'x', key: 'k' }]],
    ['nothing', ['ada', 0, { reason: 'x', key: 'k' }]],
    ['less than nothing', ['ada', -5, { reason: 'x', key: 'k' }]],
    ['half a credit', ['ada', 0.5, { reason: 'x', key: 'k' }]],
    ['no reason', ['ada', 5, { reason: ' ', key: 'k' }]],
    ['no key', ['ada', 5, { reason: 'x', key: '' }]],
    ['a key without end', ['ada', 5, { reason: 'x', key: 'k'.repeat(201) }]],
  ])('%s is refused', async (_, args) => {
    const before = await dumpTables(sql)
    await expect(createCredits(sql, {}).grant(...args)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    expect(await dumpTables(sql)).toEqual(before)
  })

  it('is not possible where credits are switched off', async () => {
    const off = createCredits(sql, false)
    await expect(off.grant('ada', 5, { reason: 'x', key: 'k' })).rejects.toThrow('switched off')
    await expect(off.balance('ada')).rejects.toThrow('switched off')
  })
})

/** What the ledger says of a task when an administrator asks for its credits back. */
type TaskState =
  | 'unknown'
  | 'free'
  | 'held'
  | 'captured'
  | 'refunded'
  | 'given back'
  | 'captured, and its row is gone'

const GIVING_BACK: Record<TaskState, { gives: boolean } | { refuses: string; saying: RegExp }> = {
  unknown: { refuses: 'NOT_FOUND', saying: /no such task/ },
  free: { refuses: 'NOTHING_TO_REFUND', saying: /was free/ },
  held: { refuses: 'NOTHING_TO_REFUND', saying: /held, not spent/ },
  captured: { gives: true },
  refunded: { refuses: 'NOTHING_TO_REFUND', saying: /given back already/ },
  'given back': { gives: false },
  'captured, and its row is gone': { gives: true },
}

describe('an administrator gives back what was spent (F13)', () => {
  const ask = (taskId: string) => giveBack(untold(sql), { taskId, reason: 'a bad picture', actor: 'root' })

  async function make(state: TaskState): Promise<{ taskId: string; userId: string }> {
    const userId = newUser()
    const world = createCreditsWorld(sql, state === 'free' ? { type: { credits: 0 } } : {})
    const { id: taskId } = await world.make(userId)
    if (state === 'unknown') return { taskId: '01a1e29c-8b2e-7a51-8bd0-bb5fa7e2c861', userId }
    if (state === 'free' || state === 'held') return { taskId, userId }
    await world.accept(taskId)
    await world.settle(taskId, state === 'refunded' ? ENDS.failed : ENDS.completed)
    if (state === 'given back') await ask(taskId)
    if (state.endsWith('gone')) await sql`delete from holdfast.tasks where id = ${taskId}`
    return { taskId, userId }
  }

  it.each(Object.entries(GIVING_BACK))('%s: %j', async (state, expected) => {
    const { taskId, userId } = await make(state as TaskState)
    const before = await dumpTables(sql)
    if ('refuses' in expected) {
      await expect(ask(taskId)).rejects.toMatchObject({
        code: expected.refuses,
        message: expect.stringMatching(expected.saying),
      })
    } else {
      const { entry, given } = await ask(taskId)
      expect(given).toBe(expected.gives)
      expect(entry).toMatchObject({ kind: 'adjust', amount: 4, taskId, userId })
      expect(await createCreditsWorld(sql).account(userId)).toEqual({ balance: 100, held: 0 })
    }
    if (!('gives' in expected && expected.gives)) expect(await dumpTables(sql)).toEqual(before)
  })

  it('once, however many ask at once', async () => {
    const { taskId, userId } = await make('captured')
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(taskId)))
    expect(answers.filter(({ given }) => given)).toHaveLength(1)
    expect(new Set(answers.map(({ entry }) => entry.id)).size).toBe(1)
    expect(await createCreditsWorld(sql).ledger({ userId })).toEqual([
      'grant 100',
      'hold 4',
      'capture 4',
      'adjust 4',
    ])
  })

  it('or while it is about to be spent: it is either still held, or spent and given back', async () => {
    for (let round = 0; round < 10; round++) {
      const world = createCreditsWorld(sql)
      const userId = newUser()
      const { id: taskId } = await world.make(userId)
      await world.accept(taskId)
      const [, answer] = await Promise.allSettled([world.settle(taskId, ENDS.completed), ask(taskId)])
      expect(await world.account(userId)).toEqual({
        balance: answer.status === 'fulfilled' ? 100 : 96,
        held: 0,
      })
    }
  })
})

describe('reading the ledger', () => {
  it('goes through a user’s own, newest first, without losing or repeating any', async () => {
    const world = createCreditsWorld(sql)
    const userId = newUser()
    for (let index = 0; index < 4; index++) await world.make(userId)
    await world.make(newUser())
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await listEntries(sql, { userId, cursor, limit: 2 })
      seen.push(...page.ledger.map(({ id }) => id))
      cursor = page.nextCursor ?? undefined
    } while (cursor)
    const all = await sql<
      { id: string }[]
    >`select id from holdfast.credit_ledger where user_id = ${userId} order by seq desc`
    expect(seen).toEqual(all.map(({ id }) => id))
    expect(seen).toHaveLength(5)
  })

  it('is in the order in which the account changed, also within a millisecond', async () => {
    const userId = newUser()
    await sql`insert into holdfast.credit_accounts (user_id) values (${userId})`
    await sql`
      insert into holdfast.credit_ledger (user_id, kind, amount) select ${userId}, 'grant', n from generate_series(1, 200) n
    `
    const amounts: number[] = []
    const audited: number[] = []
    for (let cursor: string | undefined, more = true; more; ) {
      const page = await listEntries(sql, { userId, cursor, limit: 30 })
      const audit = await auditEntries(sql, { userId, cursor, limit: 30 })
      amounts.push(...page.ledger.map(({ amount }) => amount))
      audited.push(...audit.entries.map(({ amount }) => amount))
      expect(audit.nextCursor).toBe(page.nextCursor)
      cursor = page.nextCursor ?? undefined
      more = page.nextCursor !== null
    }
    expect(amounts).toEqual(Array.from({ length: 200 }, (_, index) => 200 - index))
    expect(audited).toEqual(amounts)
  })

  it('gives entries of one user numbers in the order of their commits', async () => {
    const userId = newUser()
    await sql`insert into holdfast.credit_accounts (user_id) values (${userId})`
    const granted = (amount: number) =>
      sql`insert into holdfast.credit_ledger (user_id, kind, amount) values (${userId}, 'grant', ${amount})`
    let waiting: Promise<unknown> | undefined
    await sql.begin(async (tx) => {
      await tx`select from holdfast.credit_accounts where user_id = ${userId} for no key update`
      waiting = granted(2).execute()
      await vi.waitFor(async () =>
        expect(
          await sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        ).toHaveLength(1),
      )
      await tx`insert into holdfast.credit_ledger (user_id, kind, amount) values (${userId}, 'grant', 1)`
    })
    await waiting
    const { ledger } = await listEntries(sql, { userId, limit: 10 })
    expect(ledger.map(({ amount }) => amount)).toEqual([2, 1])
  })

  it('ends with an empty page after the oldest entry, and refuses a cursor that is none of the list’s', async () => {
    const world = createCreditsWorld(sql)
    const [userId, other] = [newUser(), newUser()]
    await world.make(userId)
    await world.make(other)
    const oldest = (await listEntries(sql, { userId, limit: 10 })).ledger.at(-1)?.id
    const foreign = (await listEntries(sql, { userId: other, limit: 10 })).ledger[0]?.id
    expect(await listEntries(sql, { userId, cursor: oldest, limit: 10 })).toEqual({
      ledger: [],
      nextCursor: null,
    })
    for (const cursor of [foreign, randomUUID()])
      await expect(listEntries(sql, { userId, cursor, limit: 10 })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        message: expect.stringContaining('cursor'),
      })
    await expect(auditEntries(sql, { cursor: randomUUID(), limit: 10 })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    })
  })

  it('tells an auditor who, what, why and what came of it, by user or by task', async () => {
    const world = createCreditsWorld(sql)
    const userId = newUser()
    const task = await world.make(userId)
    await world.settle(task.id, ENDS.failed)
    const { entries, nextCursor } = await auditEntries(sql, { taskId: task.id, limit: 10 })
    expect(nextCursor).toBeNull()
    expect(entries).toEqual([
      {
        id: expect.any(String),
        userId,
        taskId: task.id,
        kind: 'refund',
        amount: 4,
        released: 0,
        shortfall: 0,
        balanceChange: 4,
        heldChange: -4,
        reason: 'PROVIDER_FAILED',
        actor: 'system',
        taskType: 'image',
        taskStatus: 'failed',
        createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
      expect.objectContaining({ kind: 'hold', balanceChange: -4, heldChange: 4, reason: 'image' }),
    ])
    const first = await auditEntries(sql, { userId, limit: 2 })
    const rest = await auditEntries(sql, { userId, limit: 2, cursor: first.nextCursor ?? '' })
    expect([first.entries.length, rest.entries.length, rest.nextCursor]).toEqual([2, 1, null])
    expect([...first.entries, ...rest.entries].map(({ kind }) => kind)).toEqual(['refund', 'hold', 'grant'])
    expect((await auditEntries(sql, { limit: 1 })).entries).toHaveLength(1)
  })
})
