import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Task } from '@holdfast/shared'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startTestHoldfast, type TestHoldfast } from '../../../test/test-holdfast.ts'
import { signToken } from '../../../test/test-tokens.ts'
import type { QueryOutcome } from '../../providers/provider.ts'
import { deliveryPause, MOST_DELIVERY_ATTEMPTS } from './delivery-pace.ts'
import { checkEndpoints, type WebhookEndpoint } from './endpoint.ts'

const SECRET = `whsec_${Buffer.from('a secret of more than 24 bytes, as it should be').toString('base64')}`

interface Received {
  id: string
  headers: IncomingMessage['headers']
  body: string
  payload: { type: string; data: { userId: string; version: number; task: Task } }
}

/** The app's own receiver: answers as it is told to, and keeps what came. */
let answer: (nth: number) => number = () => 204
let received: Received[] = []
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString()
    const id = String(request.headers['webhook-id'])
    received.push({ id, headers: request.headers, body, payload: JSON.parse(body) })
    response.writeHead(answer(received.length), { location: 'http://127.0.0.1:1/' }).end()
  })
})

const ended = new Map<string, QueryOutcome>()
let test: TestHoldfast
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`
  test = await startTestHoldfast({
    engineRuns: true,
    webhooks: [{ name: 'app', url, secret: SECRET }],
    script: {
      create: ({ taskId, params }) =>
        params.prompt === 'refused'
          ? { kind: 'refused', code: 'SUBMIT_REFUSED', message: 'no', retryable: true }
          : { kind: 'accepted', externalId: `job-${taskId}` },
      query: (job) => ended.get(job) ?? { kind: 'running', progress: null },
    },
  })
  await vi.waitFor(async () => expect(await test.sql`select from holdfast.webhook_endpoints`).toHaveLength(1))
})
afterAll(async () => {
  await test.stop()
  receiver.closeAllConnections()
  receiver.close()
})
beforeEach(() => {
  answer = () => 204
  received = []
})

async function submit(prompt = 'a fox', maxAttempts?: number): Promise<string> {
  const json = { type: 'image', params: { prompt }, ...(maxAttempts ? { maxAttempts } : {}) }
  return (await test.asApp('ada')<{ task: Task }>('POST', '/v1/tasks', { json })).body.task.id
}
/** A delivery that is under way would be made twice, so only the kind that the test waits for is hurried. */
const hurry = (taskId: string, kind: 'poll' | 'deliver') =>
  test.sql`
    update holdfast.work set due_at = now(), epoch = epoch + 1
    where task_id = ${taskId} and kind = ${kind} and due_at > now()
  `
async function finish(taskId: string, outcome: QueryOutcome): Promise<void> {
  ended.set(`job-${taskId}`, outcome)
  await vi.waitFor(
    async () => {
      await hurry(taskId, 'poll')
      expect(
        await test.sql`select from holdfast.tasks where id = ${taskId} and finished_at is not null`,
      ).toHaveLength(1)
    },
    { timeout: 10_000, interval: 50 },
  )
}
const of = (taskId: string) => received.filter(({ payload }) => payload.data.task.id === taskId)
const typesOf = (taskId: string) => of(taskId).map(({ payload }) => payload.type)
const untilTold = (taskId: string, types: string[]) =>
  vi.waitFor(() => expect(typesOf(taskId)).toEqual(types), { timeout: 10_000 })
const untilAllTold = (taskId: string) =>
  vi.waitFor(
    async () =>
      expect(
        await test.sql`select from holdfast.work where task_id = ${taskId} and kind = 'deliver'`,
      ).toHaveLength(0),
    { timeout: 10_000 },
  )

describe('an app’s own endpoint', () => {
  it('is told what happens to each task, in order, in a way that the standardwebhooks package accepts', async () => {
    const id = await submit()
    await untilTold(id, ['task.submitted', 'task.started'])
    await finish(id, {
      kind: 'succeeded',
      outputs: [{ url: 'https://vendor.test/1.png', contentType: 'image/png', urlLifetimeMs: null }],
    })
    await untilTold(id, ['task.submitted', 'task.started', 'task.completed'])
    for (const { body, headers } of of(id)) {
      const given = headers as Record<string, string>
      expect(new Webhook(SECRET).verify(body, given)).toBeTruthy()
      const wrong = `whsec_${Buffer.from('another secret of more than 24 bytes').toString('base64')}`
      expect(() => new Webhook(wrong).verify(body, given)).toThrow('No matching signature')
      expect(() => new Webhook(SECRET).verify(`${body} `, given)).toThrow('No matching signature')
    }
    const last = of(id).at(-1)?.payload.data
    expect(last).toMatchObject({
      userId: 'ada',
      task: { status: 'completed', result: { outputs: [{ url: 'https://vendor.test/1.png' }] } },
    })
    const versions = of(id).map(({ payload }) => payload.data.version)
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(new Set(of(id).map(({ id }) => id)).size).toBe(3)
    await untilAllTold(id)
  })

  it('of failures, cancels and dead letters too', async () => {
    const failed = await submit()
    await untilTold(failed, ['task.submitted', 'task.started'])
    await finish(failed, { kind: 'failed', code: 'PROVIDER_FAILED', message: 'no', retryable: true })
    await vi.waitFor(() => expect(typesOf(failed).at(-1)).toBe('task.failed'), { timeout: 10_000 })

    const cancelled = await submit()
    await test.as('ada')('POST', `/v1/tasks/${cancelled}/cancel`)
    await vi.waitFor(() => expect(typesOf(cancelled).at(-1)).toBe('task.cancelled'), { timeout: 10_000 })

    const given = await submit('refused', 1)
    await untilTold(given, ['task.submitted', 'task.failed', 'task.dead_lettered'])
  })

  it('is told nothing that was not committed', async () => {
    await test.sql`begin`.catch(() => {})
    await expect(
      test.sql.begin(async (tx) => {
        await tx`insert into holdfast.tasks (user_id, type, provider) values ('rolled back', 'image', 'nobody')`
        throw new Error('rolled back')
      }),
    ).rejects.toThrow('rolled back')
    expect(await test.sql`select from holdfast.deliveries where user_id = 'rolled back'`).toHaveLength(0)
  })
})

describe('an endpoint that is away', () => {
  it.each([500, 404, 302, 429])(
    'answering %d: is told once it is back, in order, repeats under the same id',
    async (status) => {
      answer = () => status
      const id = await submit()
      await vi.waitFor(() => expect(received.length).toBeGreaterThan(0), { timeout: 10_000 })
      await finish(id, { kind: 'succeeded', outputs: [] })
      await vi.waitFor(
        async () => {
          await hurry(id, 'deliver')
          expect(received.length).toBeGreaterThan(3)
        },
        { timeout: 10_000, interval: 50 },
      )
      // Nothing gets past the first that was not taken.
      expect(new Set(typesOf(id))).toEqual(new Set(['task.submitted']))
      expect(new Set(of(id).map((delivery) => delivery.id)).size).toBe(1)

      answer = () => 200
      received = []
      await vi.waitFor(
        async () => {
          await hurry(id, 'deliver')
          expect([...new Set(typesOf(id))]).toEqual(['task.submitted', 'task.started', 'task.completed'])
        },
        { timeout: 10_000, interval: 50 },
      )
      await untilAllTold(id)
    },
  )

  it('for days: becomes a dead letter, and is told all of it when an operator says so', async () => {
    answer = () => 503
    const id = await submit()
    await vi.waitFor(() => expect(of(id).length).toBeGreaterThan(0), { timeout: 10_000 })
    await vi.waitFor(
      async () => {
        await test.sql`update holdfast.work set attempts = ${MOST_DELIVERY_ATTEMPTS - 1}, due_at = now() where task_id = ${id} and kind = 'deliver' and due_at > now()`
        expect(
          await test.sql`select from holdfast.dead_letters where task_id = ${id} and kind = 'deliver'`,
        ).toHaveLength(1)
      },
      { timeout: 10_000, interval: 50 },
    )
    const tried = of(id).length
    answer = () => 200
    received = []
    const [letter] = await test.sql<
      { id: string }[]
    >`select id from holdfast.dead_letters where task_id = ${id}`
    const admin = await signToken('root', { app_metadata: { role: 'admin' } })
    const retried = await test.call('POST', `/v1/admin/dead-letters/${letter?.id}/retry`, {
      headers: { authorization: `Bearer ${admin}` },
    })
    expect(retried.status).toBe(201)
    expect(tried).toBeGreaterThan(0)
    await vi.waitFor(() => expect([...new Set(typesOf(id))]).toContain('task.submitted'), { timeout: 10_000 })
    await untilAllTold(id)
  })

  it('that says 410 wants no more of it', async () => {
    answer = () => 410
    const id = await submit()
    await untilAllTold(id)
    expect(await test.sql`select from holdfast.deliveries where task_id = ${id}`).toHaveLength(0)
  })
})

describe('settings that cannot work are refused, and say why', () => {
  const good: WebhookEndpoint = { name: 'app', url: 'https://app.example.com/hooks', secret: SECRET }
  it.each<[string, WebhookEndpoint[], string]>([
    ['two of one name', [good, good], 'two webhook endpoints named "app"'],
    ['no URL', [{ ...good, url: 'app.example.com' }], 'http or https URL'],
    ['another scheme', [{ ...good, url: 'ftp://app.example.com' }], 'http or https URL'],
    ['a secret of another kind', [{ ...good, secret: 'secret' }], 'whsec_'],
    ['a short secret', [{ ...good, secret: 'whsec_c2hvcnQ=' }], 'at least 24 bytes'],
    ['an event that there is not', [{ ...good, events: ['task.dreamt' as never] }], 'is no event'],
  ])('%s', (_, endpoints, message) => {
    expect(() => checkEndpoints(endpoints)).toThrow(message)
    expect(() => checkEndpoints(endpoints)).not.toThrow(SECRET)
  })
})

it('pauses grow from seconds to hours, over about three days', () => {
  const pauses = Array.from({ length: MOST_DELIVERY_ATTEMPTS - 1 }, (_, n) => deliveryPause(n + 1, 0))
  expect(pauses).toEqual(pauses.toSorted((a, b) => a - b))
  expect(pauses[0]).toBe(5_000)
  const days = pauses.reduce((sum, pause) => sum + pause, 0) / 86_400_000
  expect(days).toBeGreaterThan(2)
  expect(days).toBeLessThan(4)
})
