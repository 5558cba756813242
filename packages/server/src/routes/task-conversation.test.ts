import { randomUUID } from 'node:crypto'
import type { Conversation, Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'

let server: TestHoldfast
beforeAll(async () => {
  server = await startTestHoldfast()
})
afterAll(() => server.stop())

const fox = { type: 'image', params: { prompt: 'a fox' } }
const submit = (userId: string, more: object, key?: string) =>
  server.as(userId)<{ task: Task }>('POST', '/v1/tasks', {
    json: { ...fox, ...more },
    headers: key === undefined ? {} : { 'idempotency-key': key },
  })
const conversationsOf = async (userId: string) =>
  (await server.as(userId)<{ conversations: Conversation[] }>('GET', '/v1/conversations')).body.conversations
const tasksOf = (userId: string) => server.sql`select from holdfast.tasks where user_id = ${userId}`

describe('a task that brings its conversation', () => {
  it('has it made, with a trimmed title', async () => {
    const id = randomUUID()
    const { status, body } = await submit('ada', { conversation: { id, title: ' foxes ' } })
    expect(status).toBe(201)
    expect(body.task.conversationId).toBe(id)
    expect(await conversationsOf('ada')).toMatchObject([
      { id, title: 'foxes', unread: 0, lastMessageAt: null },
    ])
  })

  it('finds the one that its user has already, and leaves its title', async () => {
    const id = randomUUID()
    await submit('bea', { conversation: { id, title: 'foxes' } })
    const again = await submit('bea', { conversationId: id, conversation: { id, title: 'owls' } })
    expect(again.body.task.conversationId).toBe(id)
    expect(await conversationsOf('bea')).toMatchObject([{ id, title: 'foxes' }])
    expect(await tasksOf('bea')).toHaveLength(2)
  })

  it('does not find somebody else’s', async () => {
    const id = randomUUID()
    await submit('cy', { conversation: { id, title: 'foxes' } })
    expect(await submit('dan', { conversation: { id, title: 'mine now' } })).toMatchObject(
      problem('NOT_FOUND', 404),
    )
    expect(await tasksOf('dan')).toHaveLength(0)
    expect(await conversationsOf('dan')).toEqual([])
  })

  it('is one task in one conversation, however often and at once it is sent under its key', async () => {
    const conversation = { id: randomUUID(), title: 'foxes' }
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => submit('eve', { conversation }, 'the-key')),
    )
    expect(new Set(answers.map(({ body }) => body.task.id)).size).toBe(1)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(await conversationsOf('eve')).toHaveLength(1)
    const other = { ...conversation, title: 'owls' }
    expect(await submit('eve', { conversation: other }, 'the-key')).toMatchObject(
      problem('IDEMPOTENCY_KEY_REUSED', 422),
    )
  })

  it('makes neither if the task is refused', async () => {
    const conversation = { id: randomUUID(), title: 'foxes' }
    const refused = await submit('fay', { type: 'no-such-type', conversation })
    expect(refused.status).toBe(400)
    expect(await conversationsOf('fay')).toEqual([])
  })

  it('names one conversation only', async () => {
    const conversation = { id: randomUUID(), title: 'foxes' }
    expect(await submit('gil', { conversationId: randomUUID(), conversation })).toMatchObject(
      problem('INVALID_REQUEST', 400),
    )
    expect(await conversationsOf('gil')).toEqual([])
  })

  it('is retried in the same conversation', async () => {
    const id = randomUUID()
    const { body } = await submit('hal', { conversation: { id, title: 'foxes' } })
    await server.as('hal')('POST', `/v1/tasks/${body.task.id}/cancel`)
    const retry = await server.as('hal')<{ task: Task }>('POST', `/v1/tasks/${body.task.id}/retry`)
    expect(retry.body.task).toMatchObject({ conversationId: id, retryOf: body.task.id })
    expect(await conversationsOf('hal')).toHaveLength(1)
  })

  it('is refused where conversations are switched off', async () => {
    const without = await startTestHoldfast({ conversations: false })
    try {
      const answer = await without.as('ada')('POST', '/v1/tasks', {
        json: { ...fox, conversation: { id: randomUUID(), title: 'foxes' } },
      })
      expect(answer).toMatchObject(problem('INVALID_REQUEST', 400))
      expect(answer.body).toMatchObject({ detail: expect.stringMatching(/^conversation: /) })
    } finally {
      await without.stop()
    }
  })
})
