import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Task } from '@holdfast/shared'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { readEvents } from '../../test/read-events.ts'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import type { QueryOutcome } from '../providers/provider.ts'

const KEY = 'a-service-key-of-at-least-32-characters'
const OLD_KEY = 'the-key-of-last-year-with-32-characters'

const finished = new Set<string>()
let test: TestHoldfast
beforeAll(async () => {
  test = await startTestHoldfast({
    engineRuns: true,
    serviceKeys: [KEY],
    tasksPerMinute: 1,
    script: {
      query: (externalId): QueryOutcome =>
        finished.has(externalId)
          ? {
              kind: 'succeeded',
              outputs: [{ url: 'https://vendor.test/1.png', contentType: 'image/png', urlLifetimeMs: null }],
            }
          : { kind: 'running', progress: 10 },
    },
  })
})
afterAll(() => test.stop())

const asService = <T>(
  method: string,
  path: string,
  options: { json?: unknown; headers?: Record<string, string>; key?: string } = {},
) =>
  test.call<T>(method, path, {
    json: options.json,
    headers: { authorization: `Bearer ${options.key ?? KEY}`, ...options.headers },
  })
const image = { type: 'image', params: { prompt: 'a fox' } }
const adopt = (json: object) =>
  asService<{ task: Task }>('POST', '/v1/tasks', {
    json: { ...image, provider: test.provider.name, userId: 'ada', ...json },
  })

describe('a service key', () => {
  it('creates, reads and cancels tasks for any user, as often as it likes', async () => {
    for (const userId of ['ada', 'bob', 'bob']) {
      const made = await asService<{ task: Task }>('POST', '/v1/tasks', { json: { ...image, userId } })
      expect(made.status).toBe(201)
      const { id } = made.body.task
      expect((await test.as(userId)('GET', `/v1/tasks/${id}`)).status).toBe(200)
      expect((await asService('GET', `/v1/tasks/${id}?userId=${userId}`)).status).toBe(200)
      expect((await asService('GET', `/v1/tasks/${id}?userId=eve`)).status).toBe(404)
      const cancelled = await asService<{ task: Task }>('POST', `/v1/tasks/${id}/cancel?userId=${userId}`)
      expect(cancelled.body.task.status).toBe('cancelled')
    }
    const list = await asService<{ tasks: Task[] }>('GET', '/v1/tasks?userId=bob&status=all')
    expect(list.body.tasks).toHaveLength(2)
  })

  it('retries them as often as it likes, too', async () => {
    const made = await asService<{ task: Task }>('POST', '/v1/tasks', { json: { ...image, userId: 'rob' } })
    let { id } = made.body.task
    for (let count = 0; count < 3; count += 1) {
      await asService('POST', `/v1/tasks/${id}/cancel?userId=rob`)
      const again = await asService<{ task: Task }>('POST', `/v1/tasks/${id}/retry?userId=rob`)
      expect(again.status).toBe(201)
      id = again.body.task.id
    }
    await asService('POST', `/v1/tasks/${id}/cancel?userId=rob`)
    expect(await test.as('rob')('POST', `/v1/tasks/${id}/retry`)).toMatchObject(problem('RATE_LIMITED', 429))
  })

  it('says for which user', async () => {
    for (const json of [image, { ...image, userId: '' }, { ...image, userId: 7 }]) {
      expect(await asService('POST', '/v1/tasks', { json })).toMatchObject(problem('INVALID_REQUEST', 400))
    }
    expect(await asService('GET', '/v1/tasks')).toMatchObject(problem('INVALID_REQUEST', 400))
    // Of two, nobody could tell which was meant.
    expect(await asService('GET', '/v1/tasks?userId=ada&userId=bob')).toMatchObject(
      problem('INVALID_REQUEST', 400),
    )
    const json = { ...image, userId: 'bob' }
    expect(await asService('POST', '/v1/tasks?userId=ada', { json })).toMatchObject(
      problem('INVALID_REQUEST', 400),
    )
  })

  it('is never taken from a browser, whatever else is right', async () => {
    const browsers: Record<string, string>[] = [
      { origin: 'https://app.example.com' },
      { origin: 'null' },
      { 'sec-fetch-site': 'same-origin' },
    ]
    for (const headers of browsers) {
      const answer = await asService('POST', '/v1/tasks', { json: { ...image, userId: 'ada' }, headers })
      expect(answer).toMatchObject(problem('FORBIDDEN', 403))
    }
  })

  it('is taken from a backend that calls with the fetch of Node', async () => {
    const url = await test.listen()
    const answer = await fetch(`${url}/v1/tasks?userId=ada`, { headers: { authorization: `Bearer ${KEY}` } })
    expect(answer.status).toBe(200)
  })

  it.each([OLD_KEY, KEY.slice(0, -1), `${KEY}x`, 'x'])(
    'that is wrong or old is no token either: %s',
    async (key) => {
      const answer = await asService('POST', '/v1/tasks', { json: { ...image, userId: 'ada' }, key })
      expect(answer).toMatchObject(problem('TOKEN_INVALID', 401))
    },
  )

  it('opens tasks and nothing else', async () => {
    for (const path of [
      '/v1/stream',
      '/v1/conversations',
      '/v1/admin/dead-letters',
      '/v1/credits',
      '/v1/tasksx',
    ]) {
      expect((await asService('GET', `${path}?userId=ada`)).status, path).toBe(403)
    }
  })

  describe.each<[string, (test: TestHoldfast) => RequestListener]>([
    [
      'Hono',
      ({ holdfast }) =>
        getRequestListener(new Hono().route('/holdfast', holdfast.app).fetch) as RequestListener,
    ],
    [
      'node:http, with the path taken off as Express does it',
      ({ holdfast }) =>
        (request, response) => {
          request.url = request.url?.replace(/^\/holdfast/, '') ?? '/'
          holdfast.listener(request, response)
        },
    ],
    [
      'a mount of Hono',
      ({ holdfast }) =>
        getRequestListener(new Hono().mount('/holdfast', holdfast.app.fetch).fetch) as RequestListener,
    ],
  ])('under a path of its own, by %s', (_, listenerOf) => {
    const server = createServer((request, response) => listenerOf(test)(request, response))
    let url = ''
    beforeAll(async () => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/holdfast`
    })
    afterAll(() => {
      server.closeAllConnections()
      server.close()
    })
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

    it('opens tasks', async () => {
      const body = JSON.stringify({ ...image, userId: 'mo' })
      const made = await fetch(`${url}/v1/tasks`, { method: 'POST', headers, body })
      expect(made.status).toBe(201)
      const { task } = (await made.json()) as { task: Task }
      expect((await fetch(`${url}/v1/tasks/${task.id}?userId=mo`, { headers })).status).toBe(200)
      expect((await fetch(`${url}/v1/tasks?userId=mo`, { headers })).status).toBe(200)
    })

    it('and nothing else', async () => {
      for (const path of ['/v1/credits', '/v1/conversations', '/v1/admin/dead-letters', '/v1/tasksx']) {
        expect((await fetch(`${url}${path}?userId=mo`, { headers })).status, path).toBe(403)
      }
    })
  })

  it('stands in no log line', async () => {
    await asService('POST', '/v1/tasks', { json: { ...image, userId: 'ada' }, headers: { origin: 'x' } })
    expect(test.logLines.join('\n')).not.toContain(KEY)
  })
})

describe('a job that the app started itself', () => {
  it('is adopted: shown to its user since its start, polled, and finished (F7)', async () => {
    const startedAt = new Date(Date.now() - 90_000).toISOString()
    const stream = readEvents(await test.openStream('cleo'))
    const { status, body } = await adopt({ externalId: 'job-1', userId: 'cleo', startedAt })
    expect(status).toBe(201)
    expect(body.task).toMatchObject({ status: 'running', createdAt: startedAt, startedAt })
    expect(Date.parse(body.task.deadlineAt ?? '') - Date.parse(startedAt)).toBe(600_000)
    finished.add('job-1')
    await vi.waitFor(
      async () => {
        await test.sql`update holdfast.work set due_at = now() where task_id = ${body.task.id}`
        const task = (await test.as('cleo')<{ task: Task }>('GET', `/v1/tasks/${body.task.id}`)).body.task
        expect(task).toMatchObject({ status: 'completed', result: { outputs: [{ state: 'remote' }] } })
      },
      { timeout: 10_000 },
    )
    expect(test.provider.creates.filter(({ taskId }) => taskId === body.task.id)).toEqual([])
    await stream.cancel()
  })

  it('is found by its id, and adopted once', async () => {
    const first = await adopt({ externalId: 'job-2' })
    const again = await adopt({ externalId: 'job-2' })
    expect([first.status, again.status]).toEqual([201, 200])
    expect(again.body.task.id).toBe(first.body.task.id)
    const list = await test.as('ada')<{ tasks: Task[] }>('GET', '/v1/tasks?externalId=job-2')
    expect(list.body.tasks.map(({ id }) => id)).toEqual([first.body.task.id])
    expect(await adopt({ externalId: 'job-2', userId: 'bob' })).toMatchObject(
      problem('EXTERNAL_ID_TAKEN', 409),
    )
  })

  it('by many at once makes one task', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => adopt({ externalId: 'job-3' })))
    expect(new Set(answers.map(({ body }) => body.task.id)).size).toBe(1)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  })

  it.each([
    [{ externalId: undefined }, 'externalId'],
    [{ externalId: 'x', provider: undefined }, 'provider'],
    [{ externalId: 'x', provider: 'nobody' }, 'provider'],
    [{ externalId: '' }, 'externalId'],
    [{ externalId: 'x', startedAt: 'yesterday' }, 'startedAt'],
    [{ externalId: 'x', startedAt: '2020-01-01T00:00:00Z' }, 'startedAt'],
    [{ externalId: 'x', startedAt: '2999-01-01T00:00:00Z' }, 'startedAt'],
  ])('that makes no sense is refused, and says what: %j', async (json, field) => {
    const before = await test.sql`select from holdfast.tasks`
    const answer = await adopt(json)
    expect(answer).toMatchObject(problem('INVALID_REQUEST', 400))
    expect(answer.body).toMatchObject({ detail: expect.stringContaining(field) })
    expect(await test.sql`select from holdfast.tasks`).toHaveLength(before.length)
  })

  it('cannot be adopted with a user’s own token: it might be somebody else’s', async () => {
    const answer = await test.as('eve')('POST', '/v1/tasks', {
      json: { ...image, provider: test.provider.name, externalId: 'job-1' },
    })
    expect(answer).toMatchObject(problem('FORBIDDEN', 403))
  })
})
