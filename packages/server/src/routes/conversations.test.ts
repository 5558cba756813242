import { randomUUID } from 'node:crypto'
import type { Conversation, ConversationList, Message } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeRunningTask } from '../../test/make-task.ts'
import { settleTask } from '../../test/settle-task.ts'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'

let server: TestHoldfast
beforeAll(async () => {
  server = await startTestHoldfast()
})
afterAll(() => server.stop())

const OWN_ID = '0199d2a0-0000-7000-8000-000000000001'
const open = async (userId: string, json: unknown = { title: 'foxes' }) =>
  server.as(userId)<{ conversation: Conversation }>('POST', '/v1/conversations', { json })
const finishIn = async (userId: string, conversationId: string) => {
  const task = await makeRunningTask(server.sql, { userId, conversationId })
  await settleTask(server.sql, task.id, { status: 'completed', outputs: [] })
  return task
}

describe('conversations', () => {
  it('are opened and listed, latest activity first', async () => {
    const first = await open('ada')
    const second = await open('ada', { title: ' owls ' })
    expect(first).toMatchObject({
      status: 201,
      body: { conversation: { title: 'foxes', unread: 0, lastMessageAt: null } },
    })
    await finishIn('ada', first.body.conversation.id)
    await open('bob')
    const { body } = await server.as('ada')<{ conversations: Conversation[] }>('GET', '/v1/conversations')
    expect(body.conversations).toMatchObject([
      { id: first.body.conversation.id, unread: 1, lastMessageAt: expect.any(String) },
      { id: second.body.conversation.id, title: 'owls', unread: 0 },
    ])
  })

  it('with an id of the caller’s choice can be opened twice, but not by somebody else', async () => {
    const once = await open('cy', { id: OWN_ID, title: 'foxes' })
    const twice = await open('cy', { id: OWN_ID, title: 'another title' })
    expect(twice.body).toEqual(once.body)
    expect(await open('dan', { id: OWN_ID, title: 'mine now' })).toMatchObject(problem('NOT_FOUND', 404))
  })

  it('count what is unread until they are read (F4)', async () => {
    const { id } = (await open('eve')).body.conversation
    await finishIn('eve', id)
    await finishIn('eve', id)
    const read = await server.as('eve')<{ conversation: Conversation }>(
      'POST',
      `/v1/conversations/${id}/read`,
    )
    expect(read).toMatchObject({
      status: 200,
      body: { conversation: { id, unread: 0 }, unreadConversations: 0 },
    })
    await finishIn('eve', id)
    const { body } = await server.as('eve')('GET', '/v1/conversations')
    expect(body).toMatchObject({ conversations: [{ id, unread: 1 }] })
  })

  it('tell how many of them are unread, also beyond what the list shows', async () => {
    const unread = async (userId: string) =>
      (await server.as(userId)<ConversationList>('GET', '/v1/conversations')).body
    expect(await unread('gil')).toEqual({ conversations: [], unreadConversations: 0 })
    const { id } = (await open('gil')).body.conversation
    expect(await unread('gil')).toMatchObject({ unreadConversations: 0 })
    await finishIn('gil', id)
    await finishIn('gil', id)
    expect(await unread('gil')).toMatchObject({ conversations: [{ unread: 2 }], unreadConversations: 1 })

    await server.sql`
      insert into holdfast.conversations (user_id, title, unread_count)
      select 'gil', 'owls', n % 2 from generate_series(1, 250) n
    `
    await server.sql`insert into holdfast.conversations (user_id, title, unread_count) values ('hal', 'mine', 3)`
    const many = await unread('gil')
    expect(many.conversations.length).toBeLessThan(251)
    expect(many.unreadConversations).toBe(126)
    await server.as('gil')('POST', `/v1/conversations/${id}/read`)
    expect((await unread('gil')).unreadConversations).toBe(125)
    expect((await unread('hal')).unreadConversations).toBe(1)
  })

  it('rise in version with every write, and with nothing else', async () => {
    const { id, version } = (await open('ivy', { id: randomUUID(), title: 'foxes' })).body.conversation
    expect(version).toBe(1)
    await finishIn('ivy', id)
    const read = () =>
      server.as('ivy')<{ conversation: Conversation; unreadConversations: number }>(
        'POST',
        `/v1/conversations/${id}/read`,
      )
    const first = (await read()).body
    expect(first).toMatchObject({ conversation: { version: 3, unread: 0 }, unreadConversations: 0 })
    expect((await read()).body).toEqual(first)
    expect((await open('ivy', { id, title: 'owls' })).body.conversation).toEqual(first.conversation)
  })

  it('are read once by several who read at once, and all of them are told so', async () => {
    const { id } = (await open('jan')).body.conversation
    const other = (await open('jan')).body.conversation
    await finishIn('jan', id)
    await finishIn('jan', other.id)
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => server.as('jan')('POST', `/v1/conversations/${id}/read`)),
    )
    for (const { body } of answers) {
      expect(body).toMatchObject({ conversation: { id, unread: 0, version: 3 }, unreadConversations: 1 })
    }
  })

  it('show their messages oldest first, page by page', async () => {
    const { id } = (await open('fay')).body.conversation
    const tasks = []
    for (let index = 0; index < 3; index++) tasks.push(await finishIn('fay', id))
    const page = (query: string) =>
      server.as('fay')<{ messages: Message[]; nextCursor: string | null }>(
        'GET',
        `/v1/conversations/${id}/messages${query}`,
      )
    const first = await page('?limit=2')
    const second = await page(`?limit=2&cursor=${first.body.nextCursor}`)
    const messages = [...first.body.messages, ...second.body.messages]
    expect(messages.map(({ taskId }) => taskId)).toEqual(tasks.map((task) => task.id))
    expect(second.body.nextCursor).toBeNull()
    expect(messages[0]).toEqual({
      id: expect.any(String),
      conversationId: id,
      role: 'assistant',
      content: 'a fox',
      taskId: tasks[0]?.id,
      placeholderId: null,
      taskType: 'image',
      outputs: [],
      params: { prompt: 'a fox' },
      creditsSpent: 0,
      createdAt: expect.any(String),
    })
    expect(await page('?cursor=nonsense')).toMatchObject(problem('INVALID_REQUEST', 400))
    expect(await page('?limit=500')).toMatchObject(problem('INVALID_REQUEST', 400))
  })
})
