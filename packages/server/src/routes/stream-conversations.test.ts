import type { Conversation, StreamEvents, Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEvents } from '../../test/read-events.ts'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { createMemoryBus } from '../bus/memory-bus.ts'

const HOUR = 3_600_000

/** Without a sweep: what a stream hears of, it hears of by a hint. */
let server: TestHoldfast
/** With nothing but the sweep. */
let sweeping: TestHoldfast
beforeAll(async () => {
  const script = { query: () => ({ kind: 'succeeded' as const, outputs: [] }) }
  server = await startTestHoldfast({ engineRuns: true, script, streams: { sweepMs: HOUR } })
  sweeping = await startTestHoldfast({ streams: { sweepMs: 30 } })
})
afterAll(async () => {
  await server.stop()
  await sweeping.stop()
})

const begin = async (userId: string, title = 'foxes') =>
  (await server.as(userId)<{ conversation: Conversation }>('POST', '/v1/conversations', { json: { title } }))
    .body.conversation
const markRead = (userId: string, id: string) => server.as(userId)('POST', `/v1/conversations/${id}/read`)
const submit = async (userId: string, conversationId: string) =>
  (
    await server.as(userId)<{ task: Task }>('POST', '/v1/tasks', {
      json: { type: 'image', params: { prompt: 'a fox' }, conversationId },
    })
  ).body.task

async function openStream(userId: string, headers: Record<string, string> = {}) {
  const events = readEvents(await server.openStream(userId, { headers }))
  const first = await events.next()
  const nextConversations = async () => {
    const { data, id } = await events.until('conversations')
    expect(id).toBeUndefined()
    return data as StreamEvents['conversations']
  }
  return {
    nextConversations,
    /** The next state of one conversation, and how many are unread. */
    async nextOf(id: string) {
      for (;;) {
        const { conversations, unreadConversations } = await nextConversations()
        const found = conversations.find((one) => one.id === id)
        if (found) return [found, unreadConversations]
      }
    },
    snapshot: first.data as StreamEvents['snapshot'],
    id: first.id,
    ...events,
  }
}

describe('conversations in a stream', () => {
  it('are there from the first event on, and come when they begin, have something new and are read', async () => {
    const earlier = await begin('ada')
    const stream = await openStream('ada')
    expect(stream.snapshot).toMatchObject({ conversations: [earlier], unreadConversations: 0 })

    const begun = await begin('ada', 'owls')
    expect(await stream.nextOf(begun.id)).toEqual([begun, 0])
    await submit('ada', begun.id)
    expect(await stream.nextOf(begun.id)).toMatchObject([{ unread: 1, version: 2 }, 1])
    await markRead('ada', begun.id)
    expect(await stream.nextOf(begun.id)).toMatchObject([{ unread: 0, version: 3 }, 0])
    await stream.cancel()
  })

  it('are hinted at when they changed, and only then', async () => {
    const bus = createMemoryBus()
    const own = await startTestHoldfast({ bus })
    try {
      const hints: string[] = []
      for (const userId of ['bea', 'bob']) bus.subscribe(userId, () => hints.push(userId))
      const call = async (path: string, json: object = {}) => {
        hints.length = 0
        await own.as('bea')('POST', `/v1/conversations${path}`, { json })
        return [...hints]
      }
      const id = '0199d2a0-0000-7000-8000-0000000000bb'
      expect(await call('', { id, title: 'foxes' })).toEqual(['bea'])
      expect(await call('', { id, title: 'again' })).toEqual([])
      expect(await call(`/${id}/read`)).toEqual([])
      await own.sql`update holdfast.conversations set unread_count = 1 where id = ${id}`
      expect(await call(`/${id}/read`)).toEqual(['bea'])
      expect(await call(`/${id}/read`)).toEqual([])
    } finally {
      await own.stop()
    }
  })

  it('of somebody else never appear', async () => {
    const stream = await openStream('ben')
    await begin('bob')
    const own = await begin('ben')
    expect(await stream.nextConversations()).toEqual({ conversations: [own], unreadConversations: 0 })
    await stream.cancel()
  })

  it('are not told where there are none', async () => {
    const without = await startTestHoldfast({ conversations: false, streams: { sweepMs: 30 } })
    try {
      await without.sql`insert into holdfast.conversations (user_id, title) values ('bea', 'from before')`
      const events = readEvents(await without.openStream('bea'))
      expect((await events.next()).data).not.toHaveProperty('conversations')
      await without.sql`update holdfast.conversations set unread_count = 1`
      await without.as('bea')('POST', '/v1/tasks', { json: { type: 'image', params: { prompt: 'a fox' } } })
      expect(await events.next()).toMatchObject({ event: 'task' })
      await events.cancel()
    } finally {
      await without.stop()
    }
  })

  it('come with a submit that makes one', async () => {
    const stream = await openStream('cy')
    const id = '0199d2a0-0000-7000-8000-0000000000cc'
    await server.as('cy')('POST', '/v1/tasks', {
      json: { type: 'image', params: { prompt: 'a fox' }, conversation: { id, title: 'foxes' } },
    })
    expect(await stream.nextConversations()).toMatchObject({ conversations: [{ id, title: 'foxes' }] })
    await stream.cancel()
  })

  it('that were missed come with the snapshot of a client that resumes', async () => {
    const { id } = await begin('di')
    const before = await openStream('di')
    await before.cancel()
    await server.sql`update holdfast.conversations set unread_count = 1 where id = ${id}`
    const resumed = await openStream('di', { 'last-event-id': before.id ?? '' })
    expect(resumed.snapshot).toMatchObject({ conversations: [{ id, unread: 1 }], unreadConversations: 1 })
    await resumed.cancel()
  })

  it('are told before the task whose event carries the cursor past them', async () => {
    const { id } = await begin('eve')
    const stream = await openStream('eve')
    await submit('eve', id)
    let unread = 0
    for (let event = await stream.next(); ; event = await stream.next()) {
      if (event.event === 'conversations')
        unread = (event.data as StreamEvents['conversations']).unreadConversations
      else if ((event.data as StreamEvents['task']).change === 'completed') break
    }
    expect(unread).toBe(1)
    await stream.cancel()
  })

  it('come though their hint was lost', async () => {
    const events = readEvents(await sweeping.openStream('fay'))
    await events.until('snapshot')
    // Written past the server, so no hint is given.
    await sweeping.sql`insert into holdfast.conversations (user_id, title, unread_count) values ('fay', 'foxes', 2)`
    expect((await events.until('conversations')).data).toMatchObject({
      conversations: [{ title: 'foxes', unread: 2 }],
      unreadConversations: 1,
    })
    await events.cancel()
  })
})
