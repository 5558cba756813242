import type { Task, TaskStatus } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { queueWork } from '../../test/queue-work.ts'
import { settleTask } from '../../test/settle-task.ts'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'

let server: TestHoldfast
beforeAll(async () => {
  server = await startTestHoldfast()
})
afterAll(() => server.stop())

interface One {
  task: Task
}
interface Page {
  tasks: Task[]
  nextCursor: string | null
}
const fox = { type: 'image', params: { prompt: 'a fox' } }
const create = (userId: string, json: unknown = fox, headers: Record<string, string> = {}) =>
  server.as(userId)<One>('POST', '/v1/tasks', { json, headers })

describe('POST /v1/tasks', () => {
  it('answers at once with the task, before anything was sent (F8)', async () => {
    const conversation = await server.as('ada')<{ conversation: { id: string } }>(
      'POST',
      '/v1/conversations',
      {
        json: { title: 'foxes' },
      },
    )
    const conversationId = conversation.body.conversation.id
    const { status, body, headers } = await create('ada', {
      ...fox,
      conversationId,
      placeholderId: 'p-1',
      metadata: { from: 'test' },
    })
    expect(status).toBe(201)
    expect(headers.get('x-trace-id')).toMatch(/^[0-9a-f]{32}$/)
    expect(body.task).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      type: 'image',
      provider: server.provider.name,
      status: 'pending',
      progress: null,
      queuePosition: null,
      params: { prompt: 'a fox' },
      result: null,
      failure: null,
      conversationId,
      placeholderId: 'p-1',
      messageId: null,
      parentId: null,
      retryOf: null,
      credits: { held: 0, spent: 0, returned: 0 },
      saveState: 'none',
      estimatedAt: null,
      lane: 'free_default',
      priority: 5,
      metadata: { from: 'test' },
      attempts: 0,
      lastError: null,
      nextAttemptAt: null,
      version: 1,
      createdAt: expect.any(String),
      startedAt: null,
      finishedAt: null,
      deadlineAt: null,
      updatedAt: expect.any(String),
    })
    expect(server.provider.creates).toEqual([])
  })

  it('takes over the trace id of the caller and keeps it for every later step', async () => {
    const traceId = '0123456789abcdef0123456789abcdef'
    const { body, headers } = await create('ada', fox, { traceparent: `00-${traceId}-0123456789abcdef-01` })
    expect(headers.get('x-trace-id')).toBe(traceId)
    expect(
      await server.sql`select trace_id from holdfast.provider_jobs where task_id = ${body.task.id}`,
    ).toMatchObject([{ trace_id: traceId }])
    expect(server.logLines.some((line) => line.includes(traceId))).toBe(true)
  })

  it('has no message, no conversation and no placeholder unless asked for them (F14)', async () => {
    const { body } = await create('ada')
    expect(body.task).toMatchObject({ conversationId: null, placeholderId: null })
  })
})

describe('Idempotency-Key', () => {
  const key = (name: string) => ({ 'idempotency-key': name })

  it('finds the task of the first request, in whatever order its keys are written', async () => {
    const first = await create('ivy', { ...fox, metadata: { a: 1, b: 2 } }, key('k-1'))
    const again = await create('ivy', { metadata: { b: 2, a: 1 }, ...fox }, key('k-1'))
    expect([first.status, again.status]).toEqual([201, 200])
    expect(again.body.task).toEqual(first.body.task)
  })

  it('makes one task of 100 requests at once', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => create('jo', fox, key('k-100'))))
    expect(new Set(answers.map(({ body }) => body.task.id)).size).toBe(1)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(99)
    for (const table of ['tasks', 'idempotency_keys'])
      expect(
        await server.sql`select from ${server.sql(`holdfast.${table}`)} where user_id = 'jo'`,
      ).toHaveLength(1)
  })

  it('belongs to one user', async () => {
    const one = await create('kim', fox, key('shared'))
    const other = await create('lee', fox, key('shared'))
    expect(other.status).toBe(201)
    expect(other.body.task.id).not.toBe(one.body.task.id)
  })

  it('can be used again once it has expired', async () => {
    const first = await create('mia', fox, key('old'))
    await server.sql`update holdfast.idempotency_keys set expires_at = now() where user_id = 'mia'`
    const second = await create('mia', { ...fox, params: { prompt: 'an owl' } }, key('old'))
    expect(second.status).toBe(201)
    expect(second.body.task.id).not.toBe(first.body.task.id)
  })

  it.each([
    { ...fox, params: { prompt: 'an owl' } },
    { ...fox, placeholderId: 'another' },
    { ...fox, metadata: { list: {} } },
  ])('with another body is refused: %j', async (other) => {
    await create('ned', { ...fox, metadata: { list: [] } }, key('n-1'))
    expect(await create('ned', other, key('n-1'))).toMatchObject(problem('IDEMPOTENCY_KEY_REUSED', 422))
    expect(await server.sql`select from holdfast.tasks where user_id = 'ned'`).toHaveLength(1)
  })

  it.each(['', ' ', 'with blank', 'x'.repeat(201), 'ümlaut'])('%j cannot be one', async (name) => {
    expect(await create('ona', fox, key(name))).toMatchObject(problem('IDEMPOTENCY_KEY_INVALID', 400))
  })
})

describe('GET /v1/tasks', () => {
  const list = (userId: string, query = '') => server.as(userId)<Page>('GET', `/v1/tasks${query}`)

  it('lists the unfinished, newest first, unless asked for others', async () => {
    const pending = await makeTask(server.sql, { userId: 'pam' })
    const ended = await makeRunningTask(server.sql, { userId: 'pam' })
    await settleTask(server.sql, ended.id, { status: 'cancelled' })
    await makeTask(server.sql, { userId: 'somebody else' })
    const ids = async (query: string) => (await list('pam', query)).body.tasks.map(({ id }) => id)
    expect(await ids('')).toEqual([pending.id])
    expect(await ids('?status=settled')).toEqual([ended.id])
    expect(await ids('?status=all')).toEqual([pending.id, ended.id].sort().reverse())
  })

  it('goes through pages without losing or repeating any', async () => {
    const made = []
    for (let index = 0; index < 5; index++) made.push(await makeTask(server.sql, { userId: 'quin' }))
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: Page = (await list('quin', `?limit=2${cursor ? `&cursor=${cursor}` : ''}`)).body
      seen.push(...page.tasks.map(({ id }) => id))
      cursor = page.nextCursor
    } while (cursor)
    expect(seen).toEqual(
      made
        .map(({ id }) => id)
        .sort()
        .reverse(),
    )
  })

  it('can be narrowed to a conversation; somebody else’s has none', async () => {
    const { body } = await server.as('rod')<{ conversation: { id: string } }>('POST', '/v1/conversations', {
      json: { title: 'foxes' },
    })
    const { id } = body.conversation
    const task = await makeTask(server.sql, { userId: 'rod', conversationId: id })
    await makeTask(server.sql, { userId: 'rod' })
    const within = await list('rod', `?conversationId=${id}`)
    expect(within.body.tasks.map((found) => found.id)).toEqual([task.id])
    expect((await list('sam', `?conversationId=${id}`)).body).toEqual({ tasks: [], nextCursor: null })
  })

  it('can be narrowed to a type and to exact statuses, also several, and both at once', async () => {
    const made: Record<string, string> = {}
    const make = async (name: string, type: string, status: TaskStatus) => {
      const kind = status === 'pending' ? 'send' : 'poll'
      const [id = ''] = await queueWork(server.sql, { provider: 'nobody', kind, userId: 'tom', type })
      const failure = { code: 'PROVIDER_FAILED', message: 'It did not work.', retryable: true } as const
      if (status === 'completed') await settleTask(server.sql, id, { status, outputs: [] })
      if (status === 'failed') await settleTask(server.sql, id, { status, failure })
      if (status === 'cancelled') await settleTask(server.sql, id, { status })
      made[id] = name
    }
    await make('waiting fox', 'image', 'pending')
    await make('running fox', 'image', 'running')
    await make('running owl', 'video', 'running')
    await make('fox', 'image', 'completed')
    await make('owl', 'video', 'completed')
    await make('broken owl', 'video', 'failed')
    await make('unwanted fox', 'image', 'cancelled')
    const names = async (query: string) => (await list('tom', query)).body.tasks.map(({ id }) => made[id])
    expect(await names('?status=pending')).toEqual(['waiting fox'])
    expect(await names('?status=running')).toEqual(['running owl', 'running fox'])
    expect(await names('?status=completed')).toEqual(['owl', 'fox'])
    expect(await names('?status=failed')).toEqual(['broken owl'])
    expect(await names('?status=cancelled')).toEqual(['unwanted fox'])
    expect(await names('?status=failed,cancelled')).toEqual(['unwanted fox', 'broken owl'])
    expect(await names('?status=active,failed,failed')).toEqual([
      'broken owl',
      'running owl',
      'running fox',
      'waiting fox',
    ])
    expect(await names('?type=video')).toEqual(['running owl'])
    expect(await names('?type=video&status=all')).toEqual(['broken owl', 'owl', 'running owl'])
    expect(await names('?type=video&status=settled')).toEqual(['broken owl', 'owl'])
    expect(await names('?type=image&status=completed,cancelled')).toEqual(['unwanted fox', 'fox'])
    expect(await names('?type=music&status=all')).toEqual([])
    const first = (await list('tom', '?status=completed&limit=1')).body
    expect(await names(`?status=completed&limit=1&cursor=${first.nextCursor}`)).toEqual(['fox'])
  })

  it('carries a tag only where nothing that has ended can be in it', async () => {
    const tagOf = async (query: string) => (await list('tom', query)).headers.get('etag')
    for (const query of ['', '?status=running', '?status=pending,running', '?type=image'])
      expect(await tagOf(query), query).not.toBeNull()
    for (const query of ['?status=failed', '?status=running,failed', '?status=all', '?status=settled,active'])
      expect(await tagOf(query), query).toBeNull()
  })

  it.each([
    '?status=done',
    '?status=',
    '?status=failed,',
    '?status=failed,done',
    '?type=',
    '?type=a%00b',
    `?type=${'x'.repeat(101)}`,
    '?limit=0',
    '?limit=x',
    '?cursor=x',
    '?conversationId=x',
  ])('refuses %s', async (query) => {
    expect(await list('ada', query)).toMatchObject(problem('INVALID_REQUEST', 400))
  })
})

describe('one task', () => {
  it('is shown, cancelled and tried again', async () => {
    const { body } = await create('tom')
    const path = `/v1/tasks/${body.task.id}`
    const tom = server.as('tom')
    expect((await tom<One>('GET', path)).body.task).toEqual(body.task)

    expect(await tom('POST', `${path}/retry`)).toMatchObject(problem('TASK_NOT_RETRYABLE', 409))
    const cancelled = await tom<One>('POST', `${path}/cancel`)
    expect(cancelled).toMatchObject({ status: 200, body: { task: { status: 'cancelled' } } })
    expect((await tom<One>('POST', `${path}/cancel`)).body).toEqual(cancelled.body)

    const headers = { 'idempotency-key': 'retry-1' }
    const again = await tom<One>('POST', `${path}/retry`, { headers })
    expect(again).toMatchObject({
      status: 201,
      body: { task: { retryOf: body.task.id, placeholderId: `placeholder-${body.task.id}` } },
    })
    const repeated = await tom<One>('POST', `${path}/retry`, { headers })
    expect(repeated.status).toBe(200)
    expect(repeated.body).toEqual(again.body)
  })

  it('that has ended otherwise cannot be cancelled', async () => {
    const task = await makeRunningTask(server.sql, { userId: 'uma' })
    await settleTask(server.sql, task.id, { status: 'completed', outputs: [] })
    const answer = await server.as('uma')('POST', `/v1/tasks/${task.id}/cancel`)
    expect(answer).toMatchObject(problem('TASK_ALREADY_ENDED', 409))
  })

  it('is written into the log with its steps, under the trace id of its request', async () => {
    const own = await startTestHoldfast({
      engineRuns: true,
      script: { query: () => ({ kind: 'cancelled' }) },
    })
    try {
      const { headers } = await own.as('vic')('POST', '/v1/tasks', { json: fox })
      const traceId = headers.get('x-trace-id') ?? '?'
      await vi.waitFor(
        async () => {
          // Nobody watches, so the first poll would come in half a minute.
          await own.sql`update holdfast.work set due_at = now() where kind = 'poll' and due_at > now() + interval '20 s'`
          const lines = own.logLines.filter((line) => line.includes(traceId)).join('')
          for (const step of ['"request"', '"accepted"', '"settled"']) expect(lines).toContain(step)
        },
        { timeout: 10_000 },
      )
    } finally {
      await own.stop()
    }
  })
})
