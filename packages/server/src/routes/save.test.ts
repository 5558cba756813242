import type { Message, Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createScriptedProvider } from '../../test/scripted-provider.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'

interface One {
  task: Task
}

/** The app's own table is out of order while this is set. */
const broken = { app: false }
const provider = createScriptedProvider({
  query: () => ({
    kind: 'succeeded',
    outputs: [{ url: 'https://p.example/0.png', contentType: 'image/png', urlLifetimeMs: null }],
  }),
})

let server: TestHoldfast
beforeAll(async () => {
  server = await startTestHoldfast({
    engineRuns: true,
    providers: [provider],
    types: scriptedTypes(provider.name),
    onSettled: async (tx, task) => {
      await tx`insert into public.gallery (task_id, url) values (${task.id}, ${task.outputs[0]?.url ?? ''})`
      if (broken.app) throw new Error('the gallery is closed')
    },
  })
  await server.sql`create table public.gallery (task_id uuid primary key, url text not null)`
})
afterAll(() => server.stop())

const submit = async (userId: string) => {
  const { body: made } = await server.as(userId)<{ conversation: { id: string } }>(
    'POST',
    '/v1/conversations',
    {
      json: { title: 'foxes' },
    },
  )
  const { body } = await server.as(userId)<One>('POST', '/v1/tasks', {
    json: { type: 'image', params: { prompt: 'a fox' }, conversationId: made.conversation.id },
  })
  return body.task
}
const untilCompleted = (userId: string, taskId: string) =>
  vi.waitFor(
    async () => {
      await server.sql`update holdfast.work set due_at = now() where kind = 'poll' and due_at > now() + interval '20 s'`
      const { body } = await server.as(userId)<One>('GET', `/v1/tasks/${taskId}`)
      expect(body.task.status).toBe('completed')
      return body.task
    },
    { timeout: 15_000, interval: 20 },
  )
const galleryOf = (taskId: string) => server.sql`select url from public.gallery where task_id = ${taskId}`

describe('an app that joins the finish, through the whole server (F11)', () => {
  it('has its row when the task is completed', async () => {
    const { id } = await submit('ada')
    expect(await untilCompleted('ada', id)).toMatchObject({ saveState: 'saved' })
    expect(await galleryOf(id)).toMatchObject([{ url: 'https://p.example/0.png' }])
  })
})

describe('POST /v1/tasks/:id/save (F12)', () => {
  it('makes up for what could not be written, and for nothing else', async () => {
    broken.app = true
    const { id, conversationId } = await submit('bea')
    const completed = await untilCompleted('bea', id)
    expect(completed).toMatchObject({ saveState: 'failed', result: { outputs: [{ state: 'remote' }] } })
    expect(server.logLines.join('')).toContain('"alert":"CRITICAL"')
    const save = () => server.as('bea')<One>('POST', `/v1/tasks/${id}/save`)

    const refused = await save()
    expect(refused).toMatchObject(problem('UNAVAILABLE', 503))
    expect(refused.headers.get('retry-after')).toBe('30')

    broken.app = false
    const saved = await save()
    expect(saved).toMatchObject({ status: 200, body: { task: { saveState: 'saved', id } } })
    expect(saved.body.task.version).toBeGreaterThan(completed.version)
    expect((await save()).body).toEqual(saved.body)
    expect(await galleryOf(id)).toHaveLength(1)
    const { body } = await server.as('bea')<{ messages: Message[] }>(
      'GET',
      `/v1/conversations/${conversationId}/messages`,
    )
    expect(body.messages).toMatchObject([{ taskId: id }])
  })

  it('tells a stream that it is saved', async () => {
    broken.app = true
    const { id } = await submit('cleo')
    const { version } = await untilCompleted('cleo', id)
    broken.app = false
    const { body: before } = await server.as('cleo')<{ cursor: string }>('POST', '/v1/sync', { json: {} })
    await server.as('cleo')('POST', `/v1/tasks/${id}/save`)
    const { body } = await server.as('cleo')<{ tasks: Task[] }>('POST', '/v1/sync', {
      json: { cursor: before.cursor, known: { [id]: [version, 100] } },
    })
    expect(body.tasks).toMatchObject([{ id, saveState: 'saved' }])
  })

  it('is 400 while the task is not finished, 409 when it has no result, 404 for somebody else’s', async () => {
    const { id } = await submit('dan')
    expect(await server.as('dan')('POST', `/v1/tasks/${id}/save`)).toMatchObject(
      problem('TASK_NOT_FINISHED', 400),
    )
    await server.as('dan')('POST', `/v1/tasks/${id}/cancel`)
    expect(await server.as('dan')('POST', `/v1/tasks/${id}/save`)).toMatchObject(
      problem('NOTHING_TO_SAVE', 409),
    )
    for (const [userId, taskId] of [
      ['eve', id],
      ['dan', '01a1e29c-8b2e-7a51-8bd0-bb5fa7e2c861'],
      ['dan', 'x'],
    ] as const)
      expect(await server.as(userId)('POST', `/v1/tasks/${taskId}/save`)).toMatchObject(
        problem('NOT_FOUND', 404),
      )
    expect(await server.call('POST', `/v1/tasks/${id}/save`)).toMatchObject(problem('UNAUTHENTICATED', 401))
  })
})

describe('a server without conversations', () => {
  it('refuses a task for one and says why, and has no routes for them', async () => {
    const without = await startTestHoldfast({ conversations: false })
    try {
      const conversationId = '01a1e29c-8b2e-7a51-8bd0-bb5fa7e2c861'
      const answer = await without.as('ada')('POST', '/v1/tasks', {
        json: { type: 'image', params: { prompt: 'a fox' }, conversationId },
      })
      expect(answer).toMatchObject(problem('INVALID_REQUEST', 400))
      expect(answer.body).toMatchObject({ detail: expect.stringContaining('keeps no conversations') })
      expect(await without.sql`select from holdfast.tasks`).toHaveLength(0)
      expect(await without.as('ada')('GET', '/v1/conversations')).toMatchObject(problem('NOT_FOUND', 404))
      expect(
        await without.as('ada')('POST', '/v1/tasks', {
          json: { type: 'image', params: { prompt: 'a fox' } },
        }),
      ).toMatchObject({ status: 201 })
    } finally {
      await without.stop()
    }
  })

  it('still lets what was begun in one be tried again', async () => {
    const without = await startTestHoldfast({ conversations: false })
    try {
      const [conversation] = await without.sql<{ id: string }[]>`
        insert into holdfast.conversations (user_id, title) values ('ada', 'foxes') returning id
      `
      const { body } = await without.as('ada')<One>('POST', '/v1/tasks', {
        json: { type: 'image', params: { prompt: 'a fox' } },
      })
      await without.sql`update holdfast.tasks set conversation_id = ${conversation?.id ?? ''} where id = ${body.task.id}`
      await without.as('ada')('POST', `/v1/tasks/${body.task.id}/cancel`)
      expect(await without.as('ada')('POST', `/v1/tasks/${body.task.id}/retry`)).toMatchObject({
        status: 201,
      })
    } finally {
      await without.stop()
    }
  })
})
