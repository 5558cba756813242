import type { Conversation } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectCounted } from '../../test/counted-connection.ts'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { untold } from '../../test/record-notices.ts'
import { settleTask } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import type { Sql } from '../database/connect.ts'
import { createConversation, markConversationRead } from '../plugins/conversations/conversations.ts'
import { readChanges } from './read-changes.ts'
import { parseCursor } from './sync-cursor.ts'
import { type SyncInput, syncTasks } from './sync-tasks.ts'

let database: TestDatabase
let sql: Sql
let statements: string[]
beforeAll(async () => {
  database = await createTestDatabase()
  ;({ sql, statements } = connectCounted(database.url))
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

const open = async (userId: string) =>
  (await createConversation(untold(sql), userId, { title: 'foxes' })).conversation
const finishIn = async (userId: string, conversationId: string) => {
  const { id } = await makeRunningTask(sql, { userId, conversationId })
  await settleTask(sql, id, { status: 'completed', outputs: [] })
}
/** A sync, and what is new of its conversations: a transaction that is under way elsewhere makes some come twice. */
async function sync(input: SyncInput, held: readonly Conversation[] = []) {
  const { conversations = [], ...answer } = await syncTasks(sql, input)
  const versions = new Map(held.map(({ id, version }) => [id, version]))
  const news = conversations.filter(({ id, version }) => version > (versions.get(id) ?? 0))
  return { ...answer, conversations, news }
}
/** So many conversations, the first of them the newest, some of them unread. */
const fill = (userId: string, count: number, unreadFrom: number) => sql`
  insert into holdfast.conversations (user_id, title, unread_count, created_at)
  select ${userId}, ${'狐'.repeat(200)}, case when n > ${unreadFrom} then 1 else 0 end, now() - n * interval '1 min'
  from generate_series(1, ${count}::int) n
`

describe('the conversations of a sync', () => {
  it('are all that is new to the caller, and how many of all are unread', async () => {
    const quiet = await open('ada')
    const busy = await open('ada')
    await open('bob')
    const first = await sync({ userId: 'ada' })
    expect(first.conversations).toHaveLength(2)
    expect(first.conversations).toEqual(expect.arrayContaining([quiet, busy]))
    expect(first.unreadConversations).toBe(0)

    await finishIn('ada', busy.id)
    const finished = await sync({ userId: 'ada', cursor: first.cursor }, first.conversations)
    expect(finished).toMatchObject({
      news: [{ id: busy.id, unread: 1, version: 2, lastMessageAt: expect.any(String) }],
      unreadConversations: 1,
    })
    await markConversationRead(untold(sql), 'ada', busy.id)
    const held = [...first.conversations, ...finished.news]
    const read = await sync({ userId: 'ada', cursor: finished.cursor }, held)
    expect(read).toMatchObject({ news: [{ id: busy.id, unread: 0, version: 3 }], unreadConversations: 0 })
    const last = await sync({ userId: 'ada', cursor: read.cursor }, [...held, ...read.news])
    expect(last).toMatchObject({ news: [], unreadConversations: 0 })
  })

  it('come with many tasks as with none, once', async () => {
    const { id } = await open('cy')
    for (let n = 0; n < 3; n++) await makeTask(sql, { userId: 'cy', conversationId: id })
    const first = await syncTasks(sql, { userId: 'cy' })
    expect(first).toMatchObject({ tasks: [{}, {}, {}], conversations: [{ id }] })
    const known = Object.fromEntries(
      first.tasks.map((task): [string, [number, null]] => [task.id, [0, null]]),
    )
    expect(await syncTasks(sql, { userId: 'cy', known })).toMatchObject({
      tasks: [{}, {}, {}],
      conversations: [{ id }],
    })
  })

  it('that a slow transaction writes come with the next sync', async () => {
    const slow = await open('di')
    const fast = await open('di')
    let between: Awaited<ReturnType<typeof sync>> | undefined
    await sql.begin(async (tx) => {
      await tx`update holdfast.conversations set unread_count = 1 where id = ${slow.id}`
      // Begins later and commits earlier.
      await finishIn('di', fast.id)
      between = await sync({ userId: 'di' })
    })
    expect(between?.unreadConversations).toBe(1)
    const next = await sync({ userId: 'di', cursor: between?.cursor ?? null })
    expect(next.conversations.find(({ id }) => id === slow.id)).toMatchObject({ unread: 1 })
    expect(next.unreadConversations).toBe(2)
  })

  it('are the 50 newest and the unread ones at first, at most 200 of those, in less than 200 kB', async () => {
    await fill('eve', 400, 60)
    const { conversations, unreadConversations } = await sync({ userId: 'eve' })
    expect(conversations).toHaveLength(250)
    expect(conversations.filter(({ unread }) => unread > 0)).toHaveLength(200)
    expect(unreadConversations).toBe(340)
    expect(new Set(conversations.map(({ id }) => id)).size).toBe(250)
    expect(Buffer.byteLength(JSON.stringify(conversations))).toBeLessThan(210_000)

    await fill('fay', 40, 20)
    expect((await syncTasks(sql, { userId: 'fay' })).conversations).toHaveLength(40)
  })

  it('of a cursor of another run of PostgreSQL are those of a first sync', async () => {
    const { id } = await open('gil')
    const { cursor } = await syncTasks(sql, { userId: 'gil' })
    const [, xid, hour] = cursor.split('.')
    expect(await syncTasks(sql, { userId: 'gil', cursor: `ab.${xid}.${hour}` })).toMatchObject({
      conversations: [{ id }],
    })
  })

  it('cost no statement of their own', async () => {
    const { id } = await open('hal')
    await finishIn('hal', id)
    const counts: number[] = []
    const counted = async (cursor: string | null) => {
      const before = statements.length
      const answer = await sync({ userId: 'hal', cursor })
      counts.push(statements.length - before)
      return answer
    }
    const { cursor } = await counted(null)
    await counted(cursor)
    await markConversationRead(untold(sql), 'hal', id)
    expect((await counted(cursor)).conversations).toMatchObject([{ id, unread: 0 }])
    expect(counts).toEqual([1, 1, 1])
  })

  it('are left out where there are none to tell of', async () => {
    await open('jon')
    const without = { userId: 'jon', conversations: false }
    const { cursor, ...first } = await syncTasks(sql, without)
    const before = statements.length
    const [, xid, hour] = cursor.split('.')
    const answers = [first]
    for (const since of [cursor, `ab.${xid}.${hour}`])
      answers.push(await syncTasks(sql, { ...without, cursor: since }))
    for (const answer of answers) {
      expect(answer).not.toHaveProperty('conversations')
      expect(answer).not.toHaveProperty('unreadConversations')
    }
    expect(statements.slice(before)).toHaveLength(2)
    expect(statements.slice(before).join()).not.toContain('holdfast.conversations')
  })

  it('are looked up, not searched for, among thousands of others and of one’s own', async () => {
    await sql`
      insert into holdfast.conversations (user_id, title)
      select case when n % 5 = 0 then 'ida' else 'user ' || n end, 'foxes' from generate_series(1, 20000) n
    `
    await sql`analyze holdfast.conversations`
    const since = parseCursor((await syncTasks(sql, { userId: 'ida' })).cursor)
    await open('ida')
    const question = { userId: 'ida', since, known: {}, risen: [], conversations: true }
    const plan = (await sql`explain ${readChanges(sql, question)}`).map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toMatch(/Index Scan (Backward )?using conversations_changed_of_a_user/)
    expect(plan).toMatch(/(Index|Bitmap Index|Index Only) Scan (using|on) conversations_unread_of_a_user/)
    expect(plan).not.toContain('Seq Scan on conversations')
  })
})
