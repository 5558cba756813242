import type { Task } from '@holdfast/shared'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { makeTask } from '../../../test/make-task.ts'
import { moveClock } from '../../../test/move-clock.ts'
import { receiveWebhooks } from '../../../test/receive-webhooks.ts'
import { startTestHoldfast, type TestHoldfast } from '../../../test/test-holdfast.ts'
import { signToken } from '../../../test/test-tokens.ts'

const SECRET = `whsec_${Buffer.from('a secret of more than 24 bytes, as it should be').toString('base64')}`
const DAY = 86_400_000
const refusing = {
  create: () => ({ kind: 'refused', code: 'SUBMIT_REFUSED', message: 'no', retryable: true }) as const,
}

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** An endpoint of the app: takes everything unless `status` says otherwise. */
async function openEndpoint(name: string) {
  const state = { status: 204 }
  const receiver = await receiveWebhooks(() => state.status)
  closing.push(receiver.close)
  const events = (taskId: string) =>
    receiver.calls
      .map(({ body }) => JSON.parse(body) as { type: string; data: { task: Task } })
      .filter(({ data }) => data.task.id === taskId)
      .map(({ type }) => type)
  return { state, events, calls: receiver.calls, settings: { name, url: receiver.url, secret: SECRET } }
}
type Endpoint = Awaited<ReturnType<typeof openEndpoint>>

async function start(
  endpoints: Endpoint[],
  options: Parameters<typeof startTestHoldfast>[0] = {},
  /** Where to look for the endpoints, if not in the database of its own. */
  sql?: TestHoldfast['sql'],
): Promise<TestHoldfast> {
  const server = await startTestHoldfast({
    engineRuns: true,
    webhooks: endpoints.map(({ settings }) => settings),
    ...options,
    engine: { sweepEveryMs: 20, ...options.engine },
  })
  closing.push(server.stop)
  await vi.waitFor(
    async () => {
      const known = await (sql ?? server.sql)<{ id: string }[]>`select id from holdfast.webhook_endpoints`
      for (const { settings } of endpoints) expect(known.map(({ id }) => id)).toContain(settings.name)
    },
    { timeout: 10_000 },
  )
  return server
}
async function submit({ sql, provider }: TestHoldfast): Promise<string> {
  return (await makeTask(sql, { provider: provider.name, maxAttempts: 1 })).id
}
const until = (check: () => unknown) => vi.waitFor(check, { timeout: 15_000, interval: 20 })
async function asAdmin<T>(server: TestHoldfast, method: string, path: string) {
  const token = await signToken('root', { app_metadata: { role: 'admin' } })
  return server.call<T>(method, path, { headers: { authorization: `Bearer ${token}` } })
}
const lettersOf = async (server: TestHoldfast, taskId: string) =>
  (
    await asAdmin<{ deadLetters: { id: string; taskId: string; kind: string; provider: string }[] }>(
      server,
      'GET',
      '/v1/admin/dead-letters',
    )
  ).body.deadLetters.filter((letter) => letter.taskId === taskId)
/** Makes what waits for an endpoint due, again and again, until its tries are spent. */
const untilDeadLetters = (server: TestHoldfast, taskId: string, count: number) =>
  until(async () => {
    await server.sql`update holdfast.work set due_at = now() where task_id = ${taskId} and kind = 'deliver' and due_at > now() and attempts > 0`
    expect(await lettersOf(server, taskId)).toHaveLength(count)
  })

describe('an endpoint that is registered again and again', () => {
  it('is still told after 100,000 registrations, and so is a new one', async () => {
    const app = await openEndpoint('app')
    const server = await start([app])
    // In transactions of a hundred: the versions of one row that a single one leaves make the next ever slower.
    await server.sql.unsafe(`
      do $$ begin
        for batch in 1..1000 loop
          perform holdfast.register_endpoint('app', '{task.submitted}') from generate_series(1, 100);
          commit;
        end loop;
      end $$
    `)
    const parts = await server.sql`
      select holdfast.register_endpoint('other', '{task.submitted}'), part from holdfast.webhook_endpoints where id = 'app'
    `
    expect(parts).toMatchObject([{ part: 0 }])
    expect(await server.sql`select part from holdfast.webhook_endpoints where id = 'other'`).toEqual([
      { part: 1 },
    ])
    const id = await submit(server)
    await until(() => expect(app.events(id)).toEqual(['task.submitted']))
  }, 120_000)
})

describe('Holdfast stopped for a week', () => {
  it('keeps what is to be told, also when a server without the endpoint starts first', async () => {
    const app = await openEndpoint('app')
    app.state.status = 503
    let database = ''
    const first = await start([app], {
      throughUrl: async (url) => {
        database = url
        return url
      },
    })
    const id = await submit(first)
    await until(() => expect(app.calls.length).toBeGreaterThan(0))
    await first.holdfast.stop()
    await moveClock(first.sql, 7 * DAY)

    const without = await start([], { throughUrl: async () => database }, first.sql)
    await until(async () =>
      expect(
        await first.sql`select from holdfast.webhook_endpoints where id = 'app' and absent_checked_at is not null`,
      ).toHaveLength(1),
    )
    await without.holdfast.stop()
    expect((await first.sql`select from holdfast.deliveries where task_id = ${id}`).length).toBeGreaterThan(0)

    app.state.status = 204
    app.calls.length = 0
    await start([app], { throughUrl: async () => database }, first.sql)
    await until(() => expect(app.events(id).slice(0, 2)).toEqual(['task.submitted', 'task.started']))
  })
})

describe('an endpoint that fails for a week', () => {
  it('leaves a dead letter, and is told all of it when an administrator says so', async () => {
    const app = await openEndpoint('app')
    app.state.status = 503
    const server = await start([app], { script: refusing })
    const id = await submit(server)
    await until(() => expect(app.calls.length).toBeGreaterThan(0))
    await untilDeadLetters(server, id, 2)
    await moveClock(server.sql, 7 * DAY)
    app.state.status = 204
    app.calls.length = 0
    const [letter] = (await lettersOf(server, id)).filter(({ kind }) => kind === 'deliver')
    expect((await asAdmin(server, 'POST', `/v1/admin/dead-letters/${letter?.id}/retry`)).status).toBe(201)
    await until(() => expect(app.events(id)).toEqual(['task.submitted', 'task.failed', 'task.dead_lettered']))
  })
})

describe('two endpoints that fail for one task', () => {
  it('leave a dead letter each, and each is delivered by itself', async () => {
    const [one, two] = [await openEndpoint('one'), await openEndpoint('two')]
    one.state.status = two.state.status = 503
    const server = await start([one, two])
    const id = await submit(server)
    await untilDeadLetters(server, id, 2)
    const letters = await lettersOf(server, id)
    expect(letters.map(({ provider }) => provider).sort()).toEqual(['one', 'two'])

    one.state.status = two.state.status = 204
    one.calls.length = two.calls.length = 0
    const letterOf = (name: string) => letters.find(({ provider }) => provider === name)?.id
    await asAdmin(server, 'POST', `/v1/admin/dead-letters/${letterOf('two')}/retry`)
    await until(() => expect(two.events(id)).toContain('task.submitted'))
    expect(one.events(id)).not.toContain('task.submitted')
    expect(await lettersOf(server, id)).toMatchObject([{ provider: 'one' }])
    await asAdmin(server, 'POST', `/v1/admin/dead-letters/${letterOf('one')}/retry`)
    await until(() => expect(one.events(id)).toContain('task.submitted'))
    expect(await lettersOf(server, id)).toEqual([])
  })
})

describe('what happens to one task', () => {
  it('is told in the order in which it happened, also within a millisecond', async () => {
    const app = await openEndpoint('app')
    const server = await start([app], { script: refusing })
    const id = await submit(server)
    await until(() => expect(app.events(id)).toEqual(['task.submitted', 'task.failed', 'task.dead_lettered']))
    // Many more within some milliseconds than ids could keep in order.
    await server.sql`select holdfast.note_event(${id}, 'ada', 'task.failed', n, 'free_default') from generate_series(1, 60) n`
    await until(() => expect(app.calls).toHaveLength(63))
    const versions = app.calls.slice(3).map(({ body }) => JSON.parse(body).data.version)
    expect(versions).toEqual(Array.from({ length: 60 }, (_, index) => index + 1))
  })
})
