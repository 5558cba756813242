import type { CreditAuditEntry, CreditEntry, Credits, Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { findCreditViolations } from '../../test/credit-rules.ts'
import { dumpTables } from '../../test/dump-tables.ts'
import { createScriptedProvider } from '../../test/scripted-provider.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { type Call, problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { signToken } from '../../test/test-tokens.ts'

/** Decided by the prompt: what the provider says when it is asked. */
const provider = createScriptedProvider({
  create: ({ taskId, params }) => ({ kind: 'accepted', externalId: `${params.prompt} ${taskId}` }),
  query: (externalId) => {
    if (externalId.startsWith('wait')) return { kind: 'running', progress: null }
    if (externalId.startsWith('fail'))
      return { kind: 'failed', code: 'PROVIDER_FAILED', message: 'no', retryable: true }
    return { kind: 'succeeded', outputs: [] }
  },
})
const image = scriptedTypes(provider.name, { credits: 4 }).image
const types = {
  ...(image ? { image, video: { ...image, credits: () => 20 }, sketch: { ...image, credits: 0 } } : {}),
}

let server: TestHoldfast
beforeAll(async () => {
  server = await startTestHoldfast({
    engineRuns: true,
    providers: [provider],
    types,
    credits: { initial: 30 },
  })
})
afterAll(async () => {
  expect(await findCreditViolations(server.sql)).toEqual([])
  await server.stop()
})

const admin: Call = async (method, path, given) =>
  server.call(method, path, {
    ...given,
    headers: {
      authorization: `Bearer ${await signToken('root', { app_metadata: { role: 'admin' } })}`,
      ...given?.headers,
    },
  })
const creditsOf = async (userId: string, query = '') =>
  (await server.as(userId)<Credits>('GET', `/v1/credits${query}`)).body
const submit = (userId: string, prompt: string, type = 'image') =>
  server.as(userId)<{ task: Task }>('POST', '/v1/tasks', { json: { type, params: { prompt } } })
/** Nobody watches, so the first poll would come in half a minute. */
const untilStatus = (userId: string, taskId: string, status: string) =>
  vi.waitFor(
    async () => {
      await server.sql`update holdfast.work set due_at = now() where kind = 'poll' and due_at > now() + interval '20 s'`
      const { body } = await server.as(userId)<{ task: Task }>('GET', `/v1/tasks/${taskId}`)
      expect(body.task.status).toBe(status)
    },
    { timeout: 10_000, interval: 10 },
  )

describe('GET /v1/credits', () => {
  it('tells what a user has, what things cost, and what happened, also on first sight', async () => {
    expect(await creditsOf('ada')).toEqual({
      enabled: true,
      balance: 30,
      held: 0,
      prices: { image: 4, video: null, sketch: 0 },
      ledger: [
        {
          id: expect.any(String),
          kind: 'grant',
          amount: 30,
          released: 0,
          taskId: null,
          createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      ],
      nextCursor: null,
    })
  })

  it('follows a task: held, then spent or given back', async () => {
    const { body } = await submit('bea', 'fine')
    await untilStatus('bea', body.task.id, 'completed')
    expect(await creditsOf('bea')).toMatchObject({ balance: 26, held: 0 })
    const failing = await submit('bea', 'fail')
    await untilStatus('bea', failing.body.task.id, 'failed')
    const waiting = await submit('bea', 'wait')
    expect(await creditsOf('bea')).toMatchObject({ balance: 22, held: 4 })
    await server.as('bea')('POST', `/v1/tasks/${waiting.body.task.id}/cancel`)
    // It may be being sent at this moment: then its reply decides.
    await vi.waitFor(async () => expect(await creditsOf('bea')).toMatchObject({ held: 0 }))
  })

  it('goes through pages, and refuses what is none', async () => {
    const all = (await creditsOf('bea')).ledger.map(({ id }) => id)
    expect(all.length).toBeGreaterThan(4)
    const first = await creditsOf('bea', '?limit=2')
    const rest = await creditsOf('bea', `?cursor=${first.nextCursor}`)
    expect([...first.ledger, ...rest.ledger].map(({ id }) => id)).toEqual(all)
    for (const query of ['?cursor=x', '?limit=0', '?limit=x'])
      expect(await server.as('bea')('GET', `/v1/credits${query}`)).toMatchObject(
        problem('INVALID_REQUEST', 400),
      )
  })

  it('is nobody else’s business', async () => {
    expect(await server.call('GET', '/v1/credits')).toMatchObject(problem('UNAUTHENTICATED', 401))
    const seen = JSON.stringify(await creditsOf('cleo'))
    const [other] = await server.sql`select id from holdfast.credit_ledger where user_id = 'bea' limit 1`
    expect(seen).not.toContain(other?.id)
  })
})

describe('POST /v1/tasks without enough credits', () => {
  it('is 402 with price and balance, and nothing is created', async () => {
    await creditsOf('dan')
    const before = await dumpTables(server.sql)
    const poor = await startTestHoldfast({
      providers: [createScriptedProvider({ name: provider.name })],
      types,
      credits: {},
    })
    try {
      const answer = await poor.as('dan')('POST', '/v1/tasks', {
        json: { type: 'video', params: { prompt: 'a fox' } },
      })
      expect(answer).toMatchObject(problem('INSUFFICIENT_CREDITS', 402))
      expect(answer.body).toMatchObject({
        detail: expect.stringContaining('"video" costs 20 credits and the balance is 0'),
      })
      expect(await poor.sql`select from holdfast.tasks`).toHaveLength(0)
      await poor.holdfast.credits.grant('dan', 20, { reason: 'payment', key: 'p-1' })
      expect(
        await poor.as('dan')('POST', '/v1/tasks', { json: { type: 'video', params: { prompt: 'x' } } }),
      ).toMatchObject({ status: 201 })
      expect(await poor.holdfast.credits.balance('dan')).toEqual({ balance: 0, held: 20 })
    } finally {
      await poor.stop()
    }
    expect(await dumpTables(server.sql)).toEqual(before)
  })
})

describe('where credits are switched off', () => {
  it('everything is free, and says so', async () => {
    const free = await startTestHoldfast({
      types: undefined,
      providers: [createScriptedProvider({ name: 'kie' })],
    })
    try {
      expect(await free.as('ada')('GET', '/v1/credits')).toMatchObject({
        status: 200,
        body: { enabled: false, balance: 0, held: 0, prices: {}, ledger: [], nextCursor: null },
      })
      const headers = {
        authorization: `Bearer ${await signToken('root', { app_metadata: { role: 'admin' } })}`,
        'idempotency-key': 'k',
      }
      const grant = { userId: 'ada', amount: 5, reason: 'x' }
      expect(await free.call('POST', '/v1/admin/credits/grants', { headers, json: grant })).toMatchObject(
        problem('NOT_FOUND', 404),
      )
      await expect(free.holdfast.credits.balance('ada')).rejects.toThrow('switched off')
      expect(await free.sql`select from holdfast.credit_accounts`).toHaveLength(0)
    } finally {
      await free.stop()
    }
  })
})

describe('administrators (F13, E7)', () => {
  const grant = (key: string, json: unknown) =>
    admin<{ entry: CreditEntry }>('POST', '/v1/admin/credits/grants', {
      json,
      headers: { 'idempotency-key': key },
    })
  const refund = (json: unknown) =>
    admin<{ entry: CreditEntry }>('POST', '/v1/admin/credits/refunds', { json })
  const audit = async (query: string) =>
    (await admin<{ entries: CreditAuditEntry[] }>('GET', `/v1/admin/credits/audit${query}`)).body.entries

  it('grant credits, once per key', async () => {
    const json = { userId: 'eve', amount: 50, reason: 'a competition' }
    const first = await grant('prize-1', json)
    expect(first).toMatchObject({ status: 201, body: { entry: { kind: 'grant', amount: 50 } } })
    const again = await grant('prize-1', json)
    expect(again.status).toBe(200)
    expect(again.body).toEqual(first.body)
    for (const other of [
      { ...json, amount: 51 },
      { ...json, userId: 'fay' },
    ])
      expect(await grant('prize-1', other)).toMatchObject(problem('IDEMPOTENCY_KEY_REUSED', 422))
    expect(await creditsOf('eve')).toMatchObject({ balance: 80 })
    expect(await creditsOf('fay')).toMatchObject({ balance: 30 })
    expect((await audit('?userId=eve')).find(({ amount }) => amount === 50)).toMatchObject({
      actor: 'root',
      reason: 'a competition',
    })
  })

  it('need a key to grant, because a repeated request must not give twice', async () => {
    const json = { userId: 'eve', amount: 50, reason: 'x' }
    expect(await admin('POST', '/v1/admin/credits/grants', { json })).toMatchObject(
      problem('IDEMPOTENCY_KEY_INVALID', 400),
    )
  })

  it('give back what was spent, once, and the ledger says who and why', async () => {
    const { body } = await submit('gus', 'fine')
    const json = { taskId: body.task.id, reason: 'six fingers' }
    await untilStatus('gus', body.task.id, 'completed')
    const first = await refund(json)
    expect(first).toMatchObject({
      status: 201,
      body: { entry: { kind: 'adjust', amount: 4, taskId: body.task.id } },
    })
    expect(await refund(json)).toMatchObject({ status: 200, body: first.body })
    expect(await creditsOf('gus')).toMatchObject({ balance: 30, held: 0 })
    const entries = await audit(`?taskId=${body.task.id}`)
    expect(entries.map(({ kind }) => kind).sort()).toEqual(['adjust', 'capture', 'hold'])
    expect(entries.find(({ kind }) => kind === 'adjust')).toMatchObject({
      userId: 'gus',
      actor: 'root',
      reason: 'six fingers',
      balanceChange: 4,
      heldChange: 0,
      taskStatus: 'completed',
      taskType: 'image',
    })
  })

  it('are told when there is nothing to give back', async () => {
    const waiting = await submit('hal', 'wait')
    const free = await submit('hal', 'wait', 'sketch')
    const failing = await submit('hal', 'fail')
    await untilStatus('hal', failing.body.task.id, 'failed')
    for (const { task } of [waiting.body, free.body, failing.body])
      expect(await refund({ taskId: task.id, reason: 'x' })).toMatchObject(problem('NOTHING_TO_REFUND', 409))
    expect(await refund({ taskId: '01a1e29c-8b2e-7a51-8bd0-bb5fa7e2c861', reason: 'x' })).toMatchObject(
      problem('NOT_FOUND', 404),
    )
  })

  it.each<[string, unknown]>([
    ['/grants', {}],
    ['/grants', { userId: '', amount: 1, reason: 'x' }],
    ['/grants', { userId: 'ada', amount: 0, reason: 'x' }],
    ['/grants', { userId: 'ada', amount: 1.5, reason: 'x' }],
    ['/grants', { userId: 'ada', amount: 1e15, reason: 'x' }],
    ['/grants', { userId: 'ada', amount: '5', reason: 'x' }],
    ['/grants', { userId: 'ada', amount: 5, reason: ' ' }],
    ['/grants', { userId: 'ada', amount: 5, reason: 'x', kind: 'adjust' }],
    ['/refunds', { taskId: 'x', reason: 'x' }],
    ['/refunds', { taskId: '01a1e29c-8b2e-7a51-8bd0-bb5fa7e2c861' }],
    ['/refunds', { taskId: '01a1e29c-8b2e-7a51-8bd0-bb5fa7e2c861', reason: '' }],
  ])('%s refuses %j, and changes nothing', async (path, json) => {
    const before = await server.sql`select * from holdfast.credit_ledger order by id`
    const headers = { 'idempotency-key': 'bad' }
    expect(await admin('POST', `/v1/admin/credits${path}`, { json, headers })).toMatchObject(
      problem('INVALID_REQUEST', 400),
    )
    expect(await server.sql`select * from holdfast.credit_ledger order by id`).toEqual(before)
  })

  it('only they: 403 for everyone else, and 401 without a token', async () => {
    const before = await server.sql`select * from holdfast.credit_ledger order by id`
    const ways = [
      ['GET', '/v1/admin/credits/audit', undefined],
      ['POST', '/v1/admin/credits/grants', { userId: 'ada', amount: 5, reason: 'x' }],
      ['POST', '/v1/admin/credits/refunds', { taskId: '01a1e29c-8b2e-7a51-8bd0-bb5fa7e2c861', reason: 'x' }],
    ] as const
    for (const [method, path, json] of ways) {
      const given = { ...(json ? { json } : {}), headers: { 'idempotency-key': 'mine' } }
      expect(await server.as('ada')(method, path, given)).toMatchObject(problem('FORBIDDEN', 403))
      expect(await server.call(method, path, given)).toMatchObject(problem('UNAUTHENTICATED', 401))
    }
    expect(await server.sql`select * from holdfast.credit_ledger order by id`).toEqual(before)
  })
})
