import type { Task } from '@holdfast/shared'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { findCreditViolations } from '../../test/credit-rules.ts'
import { createScriptedProvider, type Script, type ScriptedProvider } from '../../test/scripted-provider.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { signToken } from '../../test/test-tokens.ts'
import { untracedLines } from '../../test/untraced-lines.ts'
import type { HoldfastConfig } from '../create-holdfast.ts'
import type { CreateOutcome } from '../providers/provider.ts'
import type { TaskType } from '../tasks/task-types.ts'

const fox = { type: 'image', params: { prompt: 'a fox' } }
const DAY_MS = 24 * 60 * 60_000

let server: TestHoldfast | undefined
afterEach(async () => {
  if (server) {
    expect(await findCreditViolations(server.sql)).toEqual([])
    expect(untracedLines(server.logLines)).toEqual([])
  }
  await server?.stop()
  server = undefined
})

interface World {
  on: TestHoldfast
  provider: ScriptedProvider
}

async function start(
  script: Script = {},
  type: Partial<TaskType> = {},
  config: Partial<HoldfastConfig> & { engineRuns?: boolean } = {},
): Promise<World> {
  const provider = createScriptedProvider(script)
  server = await startTestHoldfast({
    engineRuns: true,
    providers: [provider],
    types: scriptedTypes(provider.name, { credits: 4, ...type }),
    credits: { initial: 10 },
    engine: { sweepEveryMs: 50, leaseMarginMs: 100 },
    ...config,
  })
  return { on: server, provider }
}

const submit = (on: TestHoldfast, json: object = {}) =>
  on.as('ada')<{ task: Task; detail?: string }>('POST', '/v1/tasks', { json: { ...fox, ...json } })
const asService = (on: TestHoldfast, json: object) =>
  on.asApp('ada')<{ task: Task; detail?: string }>('POST', '/v1/tasks', { json: { ...fox, ...json } })
const find = async (on: TestHoldfast, id: string) =>
  (await on.as('ada')<{ task: Task }>('GET', `/v1/tasks/${id}`)).body.task
const cancel = (on: TestHoldfast, id: string) =>
  on.as('ada')<{ task: Task }>('POST', `/v1/tasks/${id}/cancel`)
const retry = (on: TestHoldfast, id: string) => on.as('ada')<{ task: Task }>('POST', `/v1/tasks/${id}/retry`)
const balance = (on: TestHoldfast) => on.holdfast.credits.balance('ada')
/** Until something is so; polls, which would come in half a minute, are made at once. */
const until = (on: TestHoldfast, check: () => Promise<void>) =>
  vi.waitFor(
    async () => {
      await on.sql`update holdfast.work set due_at = now() where kind = 'poll' and due_at > now() + interval '1 s'`
      await check()
    },
    { timeout: 15_000, interval: 20 },
  )

/** A create that is answered when the test says so. */
function slowCreate() {
  const answer = Promise.withResolvers<CreateOutcome>()
  const script: Script = { create: () => answer.promise, cancel: () => true }
  return { script, answer: answer.resolve }
}
const accepted: CreateOutcome = { kind: 'accepted', externalId: 'external-1' }

describe('what only the app itself may set', () => {
  it.each([
    { deadlineMs: 1_000 },
    { timeoutMs: 1_000 },
    { maxAttempts: 1 },
    { priority: 'urgent' },
    { plan: 'pro' },
  ])('%j in a request of a user is refused, and nothing is made', async (extra) => {
    const { on } = await start()
    expect(await submit(on, extra)).toMatchObject(problem('INVALID_REQUEST', 400))
    expect(await on.sql`select from holdfast.tasks`).toHaveLength(0)
  })

  it('is taken from a service key, within the bounds of the type', async () => {
    const { on } = await start({}, { deadlineMs: 60_000 }, { engineRuns: false })
    const made = await asService(on, { deadlineMs: 5_000, maxAttempts: 9, priority: 'urgent' })
    expect(made).toMatchObject({ status: 201, body: { task: { priority: 20 } } })
    expect(
      await on.sql`select timeout_ms as "deadlineMs", max_attempts as "maxAttempts" from holdfast.tasks`,
    ).toEqual([{ deadlineMs: 5_000, maxAttempts: 9 }])
    expect(await asService(on, { deadlineMs: 60_001 })).toMatchObject(problem('INVALID_REQUEST', 400))
    expect(await asService(on, { maxAttempts: 21 })).toMatchObject(problem('INVALID_REQUEST', 400))
  })

  it('a type may let its deadline be longer', async () => {
    const { on } = await start({}, { deadlineMs: 60_000, maxDeadlineMs: 120_000 }, { engineRuns: false })
    expect((await asService(on, { deadlineMs: 120_000 })).status).toBe(201)
    expect(await asService(on, { deadlineMs: 120_001 })).toMatchObject(problem('INVALID_REQUEST', 400))
  })

  it('a plan decides about priority where the operator says so', async () => {
    const { on } = await start({}, {}, { engineRuns: false, priorityByPlan: { pro: 'high' } })
    const token = await signToken('ada', { app_metadata: { plan: 'pro' } })
    const made = await on.call<{ task: Task }>('POST', '/v1/tasks', {
      json: fox,
      headers: { authorization: `Bearer ${token}` },
    })
    expect(made.body.task.priority).toBe(10)
    expect((await submit(on)).body.task.priority).toBe(5)
  })

  const settings = async (on: TestHoldfast, id: string) =>
    (
      await on.sql`
        select timeout_ms as "deadlineMs", max_attempts as "maxAttempts", priority, lane
        from holdfast.tasks where id = ${id}
      `
    )[0]
  /** One that was made while users could say more than they can today. */
  async function endedTask(on: TestHoldfast): Promise<string> {
    const { id } = (await submit(on)).body.task
    await on.sql`
      update holdfast.tasks set timeout_ms = 1000, max_attempts = 20, priority = 20, lane = 'vip_short' where id = ${id}
    `
    await cancel(on, id)
    return id
  }
  const routed: Partial<HoldfastConfig> & { engineRuns: boolean } = {
    engineRuns: false,
    priorityByPlan: { pro: 'high' },
    route: ({ priority }) =>
      priority === 'urgent' ? 'vip_short' : priority === 'high' ? 'vip_long' : 'free_default',
  }

  it('does not come back with a user’s retry, which gets what a new task of that user gets', async () => {
    const { on } = await start({}, {}, routed)
    const id = await endedTask(on)
    const again = await retry(on, id)
    expect(again).toMatchObject({ status: 201, body: { task: { retryOf: id } } })
    expect(await settings(on, again.body.task.id)).toEqual({
      deadlineMs: null,
      maxAttempts: 3,
      priority: 5,
      lane: 'free_default',
    })
    await cancel(on, again.body.task.id)

    const token = await signToken('ada', { app_metadata: { plan: 'pro' } })
    const paid = await on.call<{ task: Task }>('POST', `/v1/tasks/${id}/retry`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(await settings(on, paid.body.task.id)).toMatchObject({ priority: 10, lane: 'vip_long' })
  })

  it('is kept when a service key retries, within the bounds of the type', async () => {
    const { on } = await start({}, { deadlineMs: 60_000, maxDeadlineMs: 120_000 }, routed)
    const made = await asService(on, { deadlineMs: 90_000, maxAttempts: 9, priority: 'urgent' })
    const { id } = made.body.task
    await cancel(on, id)
    const kept = { maxAttempts: 9, priority: 20, lane: 'vip_short' }
    const again = await on.asApp('ada')<{ task: Task }>('POST', `/v1/tasks/${id}/retry`)
    expect(await settings(on, again.body.task.id)).toEqual({ ...kept, deadlineMs: 90_000 })
    await cancel(on, again.body.task.id)

    await on.sql`update holdfast.tasks set timeout_ms = 500000 where id = ${id}`
    const shorter = await on.asApp('ada')<{ task: Task }>('POST', `/v1/tasks/${id}/retry`)
    expect(await settings(on, shorter.body.task.id)).toEqual({ ...kept, deadlineMs: 120_000 })
  })
})

describe('what we end, the provider is told to stop', () => {
  it('a deadline: refunded, and cancelled there', async () => {
    const { on, provider } = await start({ cancel: () => true }, { deadlineMs: 1 })
    const { id } = (await submit(on)).body.task
    await until(on, async () =>
      expect(await find(on, id)).toMatchObject({
        status: 'failed',
        failure: { code: 'DEADLINE_EXCEEDED' },
        credits: { held: 0, spent: 0, returned: 4 },
      }),
    )
    await vi.waitFor(() => expect(provider.cancels).toEqual([`external-${id}`]))
  })

  it('what the provider itself ended is not cancelled there', async () => {
    const { on, provider } = await start({
      cancel: () => true,
      query: () => ({ kind: 'failed', code: 'PROVIDER_FAILED', message: 'no', retryable: true }),
    })
    const { id } = (await submit(on)).body.task
    await until(on, async () => expect(await find(on, id)).toMatchObject({ status: 'failed' }))
    expect(await on.sql`select from holdfast.work`).toHaveLength(0)
    expect(provider.cancels).toEqual([])
  })
})

describe('a cancel while the create is under way', () => {
  async function cancelled(script: Script, type: Partial<TaskType> = {}) {
    const world = await start(script, type)
    const { id } = (await submit(world.on)).body.task
    await vi.waitFor(() => expect(world.provider.creates).toHaveLength(1))
    expect(await cancel(world.on, id)).toMatchObject({ status: 200, body: { task: { status: 'cancelled' } } })
    return { ...world, id }
  }

  it('ends the task at once, and its credits stay held until the reply', async () => {
    const { script, answer } = slowCreate()
    const { on, id, provider } = await cancelled(script)
    const before = await find(on, id)
    expect(before).toMatchObject({ status: 'cancelled', credits: { held: 4, spent: 0, returned: 0 } })
    expect(await balance(on)).toEqual({ balance: 6, held: 4 })

    answer(accepted)
    await until(on, async () =>
      expect((await find(on, id)).credits).toEqual({ held: 0, spent: 4, returned: 0 }),
    )
    expect((await find(on, id)).version).toBeGreaterThan(before.version)
    expect(await balance(on)).toEqual({ balance: 6, held: 0 })
    await vi.waitFor(() => expect(provider.cancels).toEqual(['external-1']))
    await vi.waitFor(async () => expect(await on.sql`select from holdfast.work`).toHaveLength(0))
  })

  it.each<[string, CreateOutcome]>([
    ['refuses', { kind: 'refused', code: 'SUBMIT_REFUSED', message: 'no', retryable: false }],
    ['refuses for now', { kind: 'refused', code: 'PROVIDER_QUOTA', message: 'later', retryable: true }],
    ['is not reached', { kind: 'not-accepted', reason: 'away', retryAfterMs: null }],
    ['is busy', { kind: 'not-accepted', reason: 'busy', retryAfterMs: 10 }],
    ['loses the reply', { kind: 'unknown', reason: 'cut' }],
  ])('costs nothing when the provider %s, and is not sent again', async (_, outcome) => {
    const { script, answer } = slowCreate()
    const { on, id, provider } = await cancelled(script)
    answer(outcome)
    await until(on, async () =>
      expect((await find(on, id)).credits).toEqual({ held: 0, spent: 0, returned: 4 }),
    )
    expect(await balance(on)).toEqual({ balance: 10, held: 0 })
    expect(await on.sql`select from holdfast.work`).toHaveLength(0)
    expect(provider.creates).toHaveLength(1)
  })

  it('a reply that was lost and is found later is paid for, and cancelled there', async () => {
    const found = { is: false }
    const { script, answer } = slowCreate()
    const { on, id, provider } = await cancelled({
      ...script,
      find: () => (found.is ? { kind: 'found', externalId: 'external-1' } : { kind: 'absent' }),
    })
    answer({ kind: 'unknown', reason: 'cut' })
    expect(await balance(on)).toEqual({ balance: 6, held: 4 })
    found.is = true
    await vi.waitFor(
      async () => {
        await on.sql`update holdfast.work set due_at = now() where kind = 'send'`
        expect((await find(on, id)).credits).toEqual({ held: 0, spent: 4, returned: 0 })
      },
      { timeout: 10_000, interval: 50 },
    )
    await vi.waitFor(() => expect(provider.cancels).toEqual(['external-1']))
  })

  it.each(['refund', 'capture'] as const)('a policy of %s needs no reply', async (onCancel) => {
    const { script, answer } = slowCreate()
    const { on, id } = await cancelled(script, { onCancel })
    expect((await find(on, id)).credits).toEqual(
      onCancel === 'refund' ? { held: 0, spent: 0, returned: 4 } : { held: 0, spent: 4, returned: 0 },
    )
    answer(accepted)
    await vi.waitFor(async () => expect(await on.sql`select from holdfast.work`).toHaveLength(0))
  })

  it('may be retried meanwhile, at its own price', async () => {
    const reply = Promise.withResolvers<void>()
    const { on, id } = await cancelled({
      create: async ({ taskId }) => {
        await reply.promise
        return { kind: 'accepted', externalId: taskId }
      },
    })
    expect((await retry(on, id)).status).toBe(201)
    expect(await retry(on, id)).toMatchObject(problem('INSUFFICIENT_CREDITS', 402))
    reply.resolve()
    await until(on, async () => expect((await find(on, id)).credits.spent).toBe(4))
  })
})

describe('a price that follows from the parameters', () => {
  const seconds = {
    params: z.looseObject({ seconds: z.unknown() }),
    credits: (params: Record<string, unknown>) => 2 * Number(params.seconds),
  }
  it('without a price a request is refused, and nothing is made', async () => {
    const { on } = await start({}, seconds)
    for (const value of [null, '', [], false, [[]], 0, -1, 1.25, 'many', {}, '0x0', ' ']) {
      const answer = await submit(on, { params: { seconds: value } })
      expect(answer, JSON.stringify(value)).toMatchObject(problem('INVALID_PARAMS', 400))
    }
    expect(await on.sql`select from holdfast.tasks`).toHaveLength(0)
  })

  it('that throws is a refusal too', async () => {
    const { on } = await start({}, { credits: ({ a }) => (a as { b: { c: number } }).b.c })
    expect(await submit(on)).toMatchObject(problem('INVALID_PARAMS', 400))
  })

  it('may be nothing where the type says so', async () => {
    const { on } = await start({}, { ...seconds, allowFree: true })
    expect((await submit(on, { params: { seconds: 0 } })).status).toBe(201)
    expect(await submit(on, { params: { seconds: -1 } })).toMatchObject(problem('INVALID_PARAMS', 400))
  })
})

describe('what the provider says it took', () => {
  const succeeds = (usage: Record<string, number | string>): Script => ({
    query: () => ({ kind: 'succeeded', outputs: [], usage }),
  })
  const byUsage: Partial<TaskType> = { credits: (_, usage) => Number(usage?.tokens ?? 4) }
  async function completed(usage: Record<string, number | string>, type: Partial<TaskType> = byUsage) {
    const { on } = await start(succeeds(usage), type)
    const { id } = (await submit(on)).body.task
    await until(on, async () => expect(await find(on, id)).toMatchObject({ status: 'completed' }))
    return { on, task: await find(on, id) }
  }

  it('is what it costs, and the rest of the hold comes back by the same entry', async () => {
    const { on, task } = await completed({ tokens: 3 })
    expect(task.credits).toEqual({ held: 0, spent: 3, returned: 1 })
    expect(await balance(on)).toEqual({ balance: 7, held: 0 })
    expect(await on.sql`select usage from holdfast.tasks`).toEqual([{ usage: { tokens: 3 } }])
    const { body } = await on.as('ada')<{ ledger: object[] }>('GET', '/v1/credits')
    expect(body.ledger[0]).toMatchObject({ kind: 'capture', amount: 3, released: 1 })
  })

  it('may be nothing at all', async () => {
    const { task } = await completed({ tokens: 0 })
    expect(task.credits).toEqual({ held: 0, spent: 0, returned: 4 })
  })

  it('is never more than was held, and what is missing is written down', async () => {
    const { on, task } = await completed({ tokens: 9 })
    expect(task.credits).toEqual({ held: 0, spent: 4, returned: 0 })
    expect(await on.sql`select shortfall::int from holdfast.credit_ledger where kind = 'capture'`).toEqual([
      { shortfall: 5 },
    ])
    expect(on.logLines.join()).toContain('cost more than could be taken')
  })

  it.each([
    [9, 9, 1, 0],
    [25, 10, 0, 15],
  ])(
    'where the type allows it, %i are taken from the balance too: %i',
    async (tokens, spent, left, shortfall) => {
      const { on, task } = await completed({ tokens }, { ...byUsage, allowOverrun: true })
      expect(task.credits).toEqual({ held: 0, spent, returned: 0 })
      expect(await balance(on)).toEqual({ balance: left, held: 0 })
      expect(await on.sql`select shortfall::int from holdfast.credit_ledger where kind = 'capture'`).toEqual([
        { shortfall },
      ])
    },
  )

  it.each<[string, TaskType['credits']]>([
    [
      'throws',
      (_, usage) => {
        if (usage) throw new Error('no such unit')
        return 4
      },
    ],
    ['makes no sense', (_, usage) => (usage ? Number.NaN : 4)],
    ['is below zero', (_, usage) => (usage ? -4 : 4)],
  ])('a price that then %s keeps no task from ending: it costs what was held', async (_, credits = 0) => {
    const { on, task } = await completed({ tokens: 3 }, { credits })
    expect(task.credits).toEqual({ held: 0, spent: 4, returned: 0 })
    expect(on.logLines.join()).toContain('"alert":"CRITICAL"')
  })
})

describe('what a task says of its credits', () => {
  it('all zeros where nothing is charged', async () => {
    const { on } = await start({}, {}, { credits: false })
    const { task } = (await submit(on)).body
    expect(task.credits).toEqual({ held: 0, spent: 0, returned: 0 })
  })

  it('held while it runs, and what an administrator gives back later', async () => {
    const { on } = await start({
      query: (_, nth) => (nth < 3 ? { kind: 'running', progress: 1 } : { kind: 'succeeded', outputs: [] }),
    })
    const { task } = (await submit(on)).body
    expect(task.credits).toEqual({ held: 4, spent: 0, returned: 0 })
    await until(on, async () =>
      expect((await find(on, task.id)).credits).toEqual({ held: 0, spent: 4, returned: 0 }),
    )
    const root = await signToken('root', { app_metadata: { role: 'admin' } })
    const refund = () =>
      on.call('POST', '/v1/admin/credits/refunds', {
        json: { taskId: task.id, reason: 'blurred' },
        headers: { authorization: `Bearer ${root}` },
      })
    const before = (await find(on, task.id)).version
    expect(await refund()).toMatchObject({ status: 201 })
    expect(await refund()).toMatchObject({ status: 200 })
    const after = await find(on, task.id)
    expect(after.credits).toEqual({ held: 0, spent: 0, returned: 4 })
    expect(after.version).toBeGreaterThan(before)
  })
})

describe('the plan of a user', () => {
  const keepMs = async (on: TestHoldfast, id: string) =>
    Number((await on.sql`select keep_ms from holdfast.tasks where id = ${id}`)[0]?.keep_ms)

  it('is what a service key says it is, and a retry keeps it', async () => {
    const { on } = await start({}, {}, { engineRuns: false })
    const paid = (await asService(on, { plan: 'pro' })).body.task
    expect(await keepMs(on, paid.id)).toBe(30 * DAY_MS)
    expect(await keepMs(on, (await asService(on, {})).body.task.id)).toBe(3 * DAY_MS)
    await cancel(on, paid.id)
    const again = await on.asApp('ada')<{ task: Task }>('POST', `/v1/tasks/${paid.id}/retry`)
    expect(again.status).toBe(201)
    expect(await keepMs(on, again.body.task.id)).toBe(30 * DAY_MS)
  })

  it('of a dead letter is kept when an administrator retries it', async () => {
    const { on } = await start({
      create: () => ({ kind: 'refused', code: 'PROVIDER_QUOTA', message: 'later', retryable: true }),
    })
    const { id } = (await asService(on, { plan: 'pro', maxAttempts: 1 })).body.task
    await until(on, async () => expect(await find(on, id)).toMatchObject({ status: 'failed' }))
    const root = { authorization: `Bearer ${await signToken('root', { app_metadata: { role: 'admin' } })}` }
    const { body } = await on.call<{ deadLetters: { id: string }[] }>('GET', '/v1/admin/dead-letters', {
      headers: root,
    })
    const again = await on.call<{ task: Task }>(
      'POST',
      `/v1/admin/dead-letters/${body.deadLetters[0]?.id}/retry`,
      { headers: root },
    )
    expect(await keepMs(on, again.body.task.id)).toBe(30 * DAY_MS)
  })
})
