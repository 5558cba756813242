import type { Task } from '@holdfast/shared'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { dumpTables } from '../../test/dump-tables.ts'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { markSending } from '../../test/mark-sending.ts'
import { notifyOver, untold } from '../../test/record-notices.ts'
import { createScriptedProvider, type Script, type ScriptedProvider } from '../../test/scripted-provider.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { createTestSettle } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import type { Bus } from '../bus/bus.ts'
import { createMemoryBus } from '../bus/memory-bus.ts'
import type { Sql } from '../database/connect.ts'
import { createNoLock } from '../locks/no-lock.ts'
import { createMetrics } from '../metrics/metrics.ts'
import { createConversation } from '../plugins/conversations/conversations.ts'
import type { CreateOutcome, QueryOutcome } from '../providers/provider.ts'
import { cancelTask } from '../tasks/cancel-task.ts'
import { createTask, type Submit } from '../tasks/create-task.ts'
import { findTask } from '../tasks/find-task.ts'
import { retryTask } from '../tasks/retry-task.ts'
import type { TaskTypes } from '../tasks/task-types.ts'
import { createEngine, defaultEngineOptions, type Engine } from './workers.ts'

let database: TestDatabase
let sql: Sql
const engines: Engine[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.stop()))
})
afterAll(() => database.drop())

const options = { ...defaultEngineOptions, idleMs: 5, leaseMarginMs: 500 }

function engineFor(
  provider: ScriptedProvider,
  { bus = createMemoryBus(), types = scriptedTypes(provider.name) }: { bus?: Bus; types?: TaskTypes } = {},
) {
  const notify = notifyOver(bus)
  const engine = createEngine(
    {
      sql,
      notify,
      settle: createTestSettle(sql, undefined, { notify }),
      lock: createNoLock(),
      metrics: createMetrics(),
      bus,
      types,
      providers: new Map([[provider.name, provider]]),
      log: pino({ level: 'silent' }),
      // No jitter: what is to be tried again is tried at once.
      random: () => 0,
    },
    options,
  )
  engines.push(engine)
  return engine
}

function start(script: Script = {}, { bus }: { bus?: Bus } = {}) {
  const provider = createScriptedProvider(script)
  const engine = engineFor(provider, bus ? { bus } : {})
  engine.start()
  return { provider, engine }
}

const get = (task: Task, userId = 'ada') => findTask(sql, userId, task.id)
const until = (check: () => Promise<void> | void) => vi.waitFor(check, { timeout: 10_000, interval: 5 })
const untilStatus = (task: Task, status: string) =>
  until(async () => expect((await get(task))?.status).toBe(status))
/** When the answer to the last poll has been dealt with, which writes the next due time a moment later. */
const untilPutOff = (task: Task) =>
  until(async () => expect((await workOf(task))[0]?.dueMs).toBeGreaterThan(10_000))
/** The epoch too, as a webhook does: a due time that is still on its way must not undo it. */
const pollNow = (task: Task) =>
  sql`update holdfast.work set due_at = now(), epoch = epoch + 1 where task_id = ${task.id} and kind = 'poll'`
const workOf = (task: Task) =>
  sql<{ id: string; kind: string; epoch: number; attempts: number; polls: number; dueMs: number }[]>`
    select id::text, kind, epoch, attempts, polls, (extract(epoch from due_at - now()) * 1000)::float8 as "dueMs"
    from holdfast.work where task_id = ${task.id}
  `

const lettersOf = (task: Task) =>
  sql`select kind, reason from holdfast.dead_letters where task_id = ${task.id} and resolved_at is null`

/** A promise to be kept by hand. */
function gate<T>() {
  let open: (value: T) => void = () => {}
  const promise = new Promise<T>((resolve) => {
    open = resolve
  })
  return { promise, open }
}

describe('a task’s life', () => {
  it('is submitted, polled and finished with nobody online: result, message and unread mark', async () => {
    const answers: QueryOutcome[] = [
      { kind: 'running', progress: 30 },
      {
        kind: 'succeeded',
        outputs: [{ url: 'https://p.example/a.png', contentType: 'image/png', urlLifetimeMs: null }],
      },
    ]
    const { provider } = start({ query: (_, nth) => answers[nth - 1] ?? { kind: 'running', progress: null } })
    const { conversation } = await createConversation(untold(sql), 'ada', { title: 'foxes' })
    const task = await makeTask(sql, { provider: provider.name, conversationId: conversation.id })
    await untilStatus(task, 'running')
    await pollNow(task)
    await until(async () => expect((await get(task))?.progress).toBe(30))
    expect(await get(task)).toMatchObject({ status: 'running' })
    await untilPutOff(task)
    await pollNow(task)
    await untilStatus(task, 'completed')
    const after = await get(task)
    expect(after).toMatchObject({ result: { outputs: [{ url: 'https://p.example/a.png' }] } })
    expect(after?.messageId).not.toBeNull()
    expect(provider.creates).toEqual([{ taskId: task.id, type: 'image', params: { prompt: 'a fox' } }])
    expect(provider.queries).toEqual([`external-${task.id}`, `external-${task.id}`])
    const [row] = await sql`select poll_count, last_polled_at from holdfast.tasks where id = ${task.id}`
    expect(row).toMatchObject({ poll_count: 2, last_polled_at: expect.any(Date) })
    expect(await workOf(task)).toEqual([])
  })

  it('tells the streams of that user of every step', async () => {
    const bus = createMemoryBus()
    const heard: string[] = []
    const { provider } = start({ query: () => ({ kind: 'succeeded', outputs: [] }) }, { bus })
    for (const user of ['ada', 'bob']) bus.subscribe(user, () => heard.push(user))
    const task = await makeTask(sql, { provider: provider.name })
    await untilStatus(task, 'completed')
    await until(() => expect(heard).toEqual(['ada', 'ada']))
  })

  it('shows progress that only rises, and 100 only at the end', async () => {
    const progress = [10, 50, 20, 120, 99.9, null, -5]
    const { provider } = start({
      query: (_, nth) => ({ kind: 'running', progress: progress[nth - 1] ?? null }),
    })
    const task = await makeRunningTask(sql, { provider: provider.name })
    const shown = [10, 50, 50, 99, 99, 99, 99]
    for (const [index] of progress.entries()) {
      await pollNow(task)
      await until(() => expect(provider.queries).toHaveLength(index + 1))
      await until(async () => expect((await get(task))?.progress).toBe(shown[index]))
    }
  })

  it('polls fast while somebody watches, slowly otherwise', async () => {
    const bus = createMemoryBus()
    const { provider } = start({}, { bus })
    const leave = bus.subscribe('ada', () => {})
    const task = await makeRunningTask(sql, { provider: provider.name })
    await pollNow(task)
    await until(() => expect(provider.queries.length).toBeGreaterThan(3))
    leave()
    await until(async () => expect((await workOf(task))[0]?.dueMs).toBeGreaterThan(29_000))
  })
})

describe('sending', () => {
  it('two engines side by side send 100 tasks exactly once each', async () => {
    // A lease that a busy machine does not let expire: whose claim is lost after the mark ends as unknown, rightly.
    const provider = createScriptedProvider({ limits: { callTimeoutMs: 30_000 } })
    for (const engine of [engineFor(provider), engineFor(provider)]) engine.start()
    const tasks = await Promise.all(
      Array.from({ length: 100 }, () => makeTask(sql, { userId: 'many', provider: provider.name })),
    )
    await until(async () => {
      const [count] =
        await sql`select count(*)::int from holdfast.tasks where user_id = 'many' and status = 'running'`
      expect(count).toEqual({ count: 100 })
    })
    expect(provider.creates).toHaveLength(100)
    expect(new Set(provider.creates.map(({ taskId }) => taskId))).toEqual(new Set(tasks.map(({ id }) => id)))
  })

  it('a lost reply ends as SUBMIT_UNKNOWN after one create, never two', async () => {
    const { provider } = start({ create: () => ({ kind: 'unknown', reason: 'cut' }) })
    const task = await makeTask(sql, { provider: provider.name })
    await untilStatus(task, 'failed')
    expect(await get(task)).toMatchObject({ failure: { code: 'SUBMIT_UNKNOWN', retryable: true } })
    expect(provider.creates).toHaveLength(1)
    expect(await workOf(task)).toEqual([])
  })

  it('a create that a killed process may have sent is not sent again', async () => {
    const provider = createScriptedProvider()
    const task = await makeTask(sql, { provider: provider.name })
    const [work] = await workOf(task)
    expect(await markSending(sql, task.id, { workId: work?.id ?? '', epoch: work?.epoch ?? 0 })).toBe(true)
    engineFor(provider).start()
    await untilStatus(task, 'failed')
    expect(await get(task)).toMatchObject({ failure: { code: 'SUBMIT_UNKNOWN' } })
    expect(provider.creates).toHaveLength(0)
  })

  it('an adapter that breaks while sending leaves an unknown outcome, not a second create', async () => {
    const { provider } = start({
      limits: { callTimeoutMs: 20 },
      create: () => {
        throw new Error('a bug')
      },
    })
    const task = await makeTask(sql, { provider: provider.name })
    await untilStatus(task, 'failed')
    expect(await get(task)).toMatchObject({ failure: { code: 'SUBMIT_UNKNOWN' } })
    expect(provider.creates).toHaveLength(1)
    // Nobody has foreseen it, so an operator sees it.
    expect(await lettersOf(task)).toEqual([{ kind: 'send', reason: 'the adapter threw' }])
  })

  it('a provider that cannot be reached is tried until it can: that is no attempt', async () => {
    const { provider } = start({
      create: (request, nth): CreateOutcome =>
        nth <= 6
          ? { kind: 'not-accepted', reason: 'no route', retryAfterMs: null }
          : { kind: 'accepted', externalId: `external-${request.taskId}` },
    })
    const task = await makeTask(sql, { provider: provider.name })
    await untilStatus(task, 'running')
    expect(provider.creates).toHaveLength(7)
  })

  it('a refusal that may pass is tried again, and given up after the last attempt', async () => {
    const { provider } = start({
      create: () => ({ kind: 'refused', code: 'SUBMIT_REFUSED', message: 'not now', retryable: true }),
    })
    const task = await makeTask(sql, { provider: provider.name })
    await untilStatus(task, 'failed')
    expect(await get(task)).toMatchObject({ failure: { code: 'SUBMIT_REFUSED', message: 'not now' } })
    expect(provider.creates).toHaveLength(3)
  })

  it('being told to wait is not a failed attempt', async () => {
    const { provider } = start({
      create: (request, nth): CreateOutcome =>
        nth <= 6
          ? { kind: 'not-accepted', reason: 'busy', retryAfterMs: 5 }
          : { kind: 'accepted', externalId: `external-${request.taskId}` },
    })
    const task = await makeTask(sql, { provider: provider.name })
    await untilStatus(task, 'running')
    expect(provider.creates).toHaveLength(7)
  })

  it('a refusal fails the task with the provider’s reason, at once', async () => {
    const { provider } = start({
      create: () => ({
        kind: 'refused',
        code: 'CONTENT_REFUSED',
        message: 'Not this one.',
        retryable: false,
      }),
    })
    const task = await makeTask(sql, { provider: provider.name })
    await untilStatus(task, 'failed')
    expect(await get(task)).toMatchObject({
      failure: { code: 'CONTENT_REFUSED', message: 'Not this one.', retryable: false },
      startedAt: null,
    })
    expect(provider.creates).toHaveLength(1)
  })

  it('a type that is no longer offered is refused without asking the provider', async () => {
    const provider = createScriptedProvider()
    const task = await makeTask(sql, { provider: provider.name })
    engineFor(provider, { types: {} }).start()
    await untilStatus(task, 'failed')
    expect(await get(task)).toMatchObject({ failure: { code: 'SUBMIT_REFUSED' } })
    expect(provider.creates).toHaveLength(0)
  })
})

describe('polls that tell nothing', () => {
  it('leave the task as it is', async () => {
    const { provider } = start({ query: () => ({ kind: 'inconclusive', reason: '502', retryAfterMs: null }) })
    const task = await makeRunningTask(sql, { provider: provider.name })
    const before = await get(task)
    for (const polls of [1, 2, 3]) {
      await pollNow(task)
      // The silence is counted in the same write that puts the poll off.
      await until(async () => expect(await workOf(task)).toMatchObject([{ polls, attempts: polls }]))
    }
    expect(await get(task)).toEqual(before)
  })

  it('are repeated no sooner than the provider asks', async () => {
    const { provider } = start({
      query: () => ({ kind: 'inconclusive', reason: '429', retryAfterMs: 90_000 }),
    })
    const task = await makeRunningTask(sql, { provider: provider.name })
    await pollNow(task)
    await until(async () => expect((await workOf(task))[0]?.dueMs).toBeGreaterThan(80_000))
  })

  it('an adapter that throws is our bug: logged, and the task polled again later', async () => {
    const { provider } = start({
      limits: { callTimeoutMs: 10 },
      query: (_, nth) => {
        if (nth === 1) throw new Error('a bug')
        return { kind: 'succeeded', outputs: [] }
      },
    })
    const task = await makeRunningTask(sql, { provider: provider.name })
    await pollNow(task)
    await until(() => expect(provider.queries).toHaveLength(1))
    await untilPutOff(task)
    await pollNow(task)
    await untilStatus(task, 'completed')
  })

  it('“not found” counts only after the grace period', async () => {
    const { provider } = start({ query: () => ({ kind: 'not-found' }), limits: { notFoundGraceMs: 60_000 } })
    const task = await makeRunningTask(sql, { provider: provider.name })
    await pollNow(task)
    await untilPutOff(task)
    expect(await get(task)).toMatchObject({ status: 'running' })
    await sql`update holdfast.provider_jobs set accepted_at = now() - interval '61 s' where task_id = ${task.id}`
    await pollNow(task)
    await untilStatus(task, 'failed')
    expect(await get(task)).toMatchObject({ failure: { code: 'TASK_NOT_FOUND' } })
  })
})

describe('the deadline', () => {
  it('fails a task only after a poll said that it is still unfinished', async () => {
    const answers: QueryOutcome[] = [
      { kind: 'inconclusive', reason: '502', retryAfterMs: null },
      { kind: 'not-found' },
      { kind: 'running', progress: 40 },
    ]
    const { provider } = start({ query: (_, nth) => answers[nth - 1] ?? { kind: 'running', progress: null } })
    const task = await makeRunningTask(sql, { provider: provider.name, deadlineMs: 1 })
    for (const polls of [1, 2]) {
      await pollNow(task)
      // Written once it is known what the poll told: silence after the first, none after the second.
      await until(async () =>
        expect(await workOf(task)).toMatchObject([{ polls, attempts: polls === 1 ? 1 : 0 }]),
      )
      expect(await get(task)).toMatchObject({ status: 'running' })
    }
    await pollNow(task)
    await untilStatus(task, 'failed')
    expect(await get(task)).toMatchObject({ failure: { code: 'DEADLINE_EXCEEDED', retryable: true } })
  })

  it('does not take away what the provider finished while we were out', async () => {
    const { provider } = start({ query: () => ({ kind: 'succeeded', outputs: [] }) })
    const task = await makeRunningTask(sql, { provider: provider.name, deadlineMs: 1 })
    await pollNow(task)
    await untilStatus(task, 'completed')
  })

  it('gives up a day later even if no poll tells anything', async () => {
    const { provider } = start({ query: () => ({ kind: 'inconclusive', reason: '502', retryAfterMs: null }) })
    const task = await makeRunningTask(sql, { provider: provider.name })
    await sql`alter table holdfast.tasks disable trigger guard_task_update`
    await sql`
      update holdfast.tasks set created_at = now() - interval '3 days', started_at = now() - interval '3 days', deadline_at = now() - interval '25 hours'
      where id = ${task.id}
    `
    await sql`alter table holdfast.tasks enable trigger guard_task_update`
    await pollNow(task)
    await untilStatus(task, 'failed')
    expect(await get(task)).toMatchObject({ failure: { code: 'DEADLINE_EXCEEDED' } })
  })
})

describe('what the provider ends', () => {
  it.each<[QueryOutcome, object]>([
    [
      { kind: 'failed', code: 'PROVIDER_FAILED', message: 'It broke.', retryable: true },
      { status: 'failed', failure: { code: 'PROVIDER_FAILED', message: 'It broke.', retryable: true } },
    ],
    [{ kind: 'cancelled' }, { status: 'cancelled', failure: null }],
    [
      { kind: 'succeeded', outputs: [] },
      { status: 'completed', progress: 100 },
    ],
  ])('%j', async (answer, expected) => {
    const { provider } = start({ query: () => answer })
    const task = await makeRunningTask(sql, { provider: provider.name })
    await pollNow(task)
    await until(async () => expect(await get(task)).toMatchObject(expected))
  })

  it('is left for an operator, too, where nobody can read the result', async () => {
    const message = 'The generation service gave no file.'
    const { provider } = start({
      query: () => ({ kind: 'failed', code: 'RESULT_UNREADABLE', message, retryable: true }),
    })
    const task = await makeRunningTask(sql, { provider: provider.name })
    await pollNow(task)
    await untilStatus(task, 'failed')
    expect(await get(task)).toMatchObject({ failure: { code: 'RESULT_UNREADABLE', message } })
    expect(await lettersOf(task)).toEqual([{ kind: 'poll', reason: message }])
  })

  it('is a fact, even when the claim was taken over meanwhile', async () => {
    const answered = gate<QueryOutcome>()
    const { provider } = start({ query: () => answered.promise, limits: { callTimeoutMs: 60_000 } })
    const task = await makeRunningTask(sql, { provider: provider.name })
    await pollNow(task)
    await until(() => expect(provider.queries).toHaveLength(1))
    await sql`update holdfast.work set epoch = epoch + 1, due_at = 'infinity' where task_id = ${task.id}`
    answered.open({ kind: 'succeeded', outputs: [] })
    await untilStatus(task, 'completed')
  })

  it('what we decide is not, once the claim was taken over', async () => {
    const answered = gate<QueryOutcome>()
    const { provider, engine } = start({ query: () => answered.promise, limits: { callTimeoutMs: 60_000 } })
    const task = await makeRunningTask(sql, { provider: provider.name, deadlineMs: 1 })
    await pollNow(task)
    await until(() => expect(provider.queries).toHaveLength(1))
    await sql`update holdfast.work set epoch = epoch + 1, due_at = 'infinity' where task_id = ${task.id}`
    answered.open({ kind: 'running', progress: 10 })
    await engine.stop()
    expect(await get(task)).toMatchObject({ status: 'running' })
    expect(
      await sql`select from holdfast.work where task_id = ${task.id} and due_at = 'infinity'`,
    ).toHaveLength(1)
  })
})

describe('cancelling', () => {
  it('before it was sent: it never is', async () => {
    const provider = createScriptedProvider({ cancel: () => true })
    const task = await makeTask(sql, { provider: provider.name })
    expect(
      await cancelTask(sql, createTestSettle(sql, undefined, { canCancel: () => true }), 'ada', task.id),
    ).toMatchObject({
      status: 'cancelled',
    })
    const marker = await makeTask(sql, { provider: provider.name })
    engineFor(provider).start()
    await untilStatus(marker, 'running')
    expect(provider.creates.map(({ taskId }) => taskId)).toEqual([marker.id])
    expect(provider.cancels).toEqual([])
  })

  it('while it is being sent: the provider is asked to stop as soon as it answers', async () => {
    const answered = gate<CreateOutcome>()
    const { provider } = start({ create: () => answered.promise, cancel: () => true })
    const task = await makeTask(sql, { provider: provider.name })
    await until(() => expect(provider.creates).toHaveLength(1))
    expect(
      await cancelTask(sql, createTestSettle(sql, undefined, { canCancel: () => true }), 'ada', task.id),
    ).toMatchObject({
      status: 'cancelled',
    })
    answered.open({ kind: 'accepted', externalId: `late-${task.id}` })
    await until(() => expect(provider.cancels).toEqual([`late-${task.id}`]))
    await until(async () => expect(await workOf(task)).toEqual([]))
    expect(await get(task)).toMatchObject({ status: 'cancelled' })
    expect(
      await sql`select external_id from holdfast.provider_jobs where task_id = ${task.id}`,
    ).toMatchObject([{ external_id: `late-${task.id}` }])
  })

  it('while it runs: the provider is asked, again if it does not hear, and then let be', async () => {
    const { provider } = start({ cancel: () => false })
    const task = await makeRunningTask(sql, { provider: provider.name })
    expect(
      await cancelTask(sql, createTestSettle(sql, undefined, { canCancel: () => true }), 'ada', task.id),
    ).toMatchObject({
      status: 'cancelled',
    })
    for (const attempt of [1, 2, 3]) {
      await until(() => expect(provider.cancels).toHaveLength(attempt))
      if (attempt < 3)
        await until(async () => expect(await workOf(task)).toMatchObject([{ attempts: attempt }]))
      await sql`update holdfast.work set due_at = now() where task_id = ${task.id}`
    }
    await until(async () => expect(await workOf(task)).toEqual([]))
    expect(provider.queries).toEqual([])
  })

  it('where the provider cannot: it ends here, and nobody is asked', async () => {
    const task = await makeRunningTask(sql)
    expect(await cancelTask(sql, createTestSettle(sql), 'ada', task.id)).toMatchObject({
      status: 'cancelled',
    })
    expect(await workOf(task)).toEqual([])
  })

  it('again is no error; of a task that ended otherwise it is', async () => {
    const { provider } = start({ query: () => ({ kind: 'succeeded', outputs: [] }) })
    const task = await makeRunningTask(sql, { provider: provider.name })
    const other = await makeRunningTask(sql)
    await cancelTask(sql, createTestSettle(sql), 'ada', other.id)
    expect(await cancelTask(sql, createTestSettle(sql), 'ada', other.id)).toMatchObject({
      status: 'cancelled',
    })
    await pollNow(task)
    await untilStatus(task, 'completed')
    await expect(cancelTask(sql, createTestSettle(sql), 'ada', task.id)).rejects.toMatchObject({
      code: 'TASK_ALREADY_ENDED',
    })
    await expect(cancelTask(sql, createTestSettle(sql), 'bob', task.id)).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  it('and finishing at the same moment: one of them wins, and says so', async () => {
    const { provider } = start({ query: () => ({ kind: 'succeeded', outputs: [] }) })
    for (let round = 0; round < 10; round++) {
      const task = await makeRunningTask(sql, { provider: provider.name })
      await pollNow(task)
      const answer = await cancelTask(sql, createTestSettle(sql), 'ada', task.id).then(
        ({ status }) => status,
        (error: { code: string }) => error.code,
      )
      await until(async () => expect(await workOf(task)).toEqual([]))
      const status = (await get(task))?.status
      expect([answer, status]).toEqual(
        status === 'cancelled' ? ['cancelled', 'cancelled'] : ['TASK_ALREADY_ENDED', 'completed'],
      )
    }
  })
})

describe('retrying', () => {
  const submitTo =
    (provider: string): Submit =>
    (input) =>
      createTask(untold(sql), scriptedTypes(provider), input)

  it('makes a new task that takes over the placeholder', async () => {
    const { provider, engine } = start({
      create: () => ({ kind: 'refused', code: 'PROVIDER_FAILED', message: 'no', retryable: true }),
    })
    const task = await makeTask(sql, {
      provider: provider.name,
      priority: 'high',
      metadata: { from: 'test' },
    })
    await untilStatus(task, 'failed')
    await engine.stop()
    const { task: again, created } = await retryTask(sql, submitTo(provider.name), {
      userId: 'ada',
      taskId: task.id,
      idempotencyKey: null,
      traceId: 'trace',
    })
    expect(created).toBe(true)
    expect(again).toMatchObject({
      status: 'pending',
      retryOf: task.id,
      placeholderId: `placeholder-${task.id}`,
      params: task.params,
      metadata: { from: 'test' },
      priority: 10,
      failure: null,
    })
    expect(again.id).not.toBe(task.id)
    expect(await workOf(again)).toMatchObject([{ kind: 'send' }])
    expect(await get(task)).toMatchObject({ status: 'failed', retryOf: null })
  })

  it('is refused for a task that is not over, went well, or is somebody else’s', async () => {
    const running = await makeRunningTask(sql)
    const input = { idempotencyKey: null, traceId: 'trace', taskId: running.id }
    await expect(retryTask(sql, submitTo('nobody'), { ...input, userId: 'ada' })).rejects.toMatchObject({
      code: 'TASK_NOT_RETRYABLE',
    })
    await expect(retryTask(sql, submitTo('nobody'), { ...input, userId: 'bob' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })
})

describe('stopping', () => {
  it('sees a create through and hands polls back at once', async () => {
    const created = gate<CreateOutcome>()
    const polled = gate<QueryOutcome>()
    const { provider, engine } = start({
      create: () => created.promise,
      query: () => polled.promise,
      limits: { callTimeoutMs: 60_000 },
    })
    const sending = await makeTask(sql, { provider: provider.name })
    const polling = await makeRunningTask(sql, { provider: provider.name })
    await pollNow(polling)
    await until(() => expect([provider.creates.length, provider.queries.length]).toEqual([1, 1]))
    let stopped = false
    const stopping = engine.stop().then(() => {
      stopped = true
    })
    polled.open({ kind: 'inconclusive', reason: 'aborted', retryAfterMs: null })
    await until(async () => expect((await workOf(polling))[0]?.dueMs).toBeLessThanOrEqual(0))
    expect(stopped).toBe(false)
    created.open({ kind: 'accepted', externalId: `external-${sending.id}` })
    await stopping
    expect(await get(sending)).toMatchObject({ status: 'running' })
    await engine.stop()
  })

  it('claims nothing more, even when woken', async () => {
    const { provider, engine } = start()
    await engine.stop()
    const task = await makeTask(sql, { provider: provider.name })
    engine.wake()
    engine.start()
    await engine.stop()
    expect(provider.creates).toEqual([])
    expect(await workOf(task)).toMatchObject([{ epoch: 0 }])
  })

  it('waits no longer than it was told to', async () => {
    const provider = createScriptedProvider({ create: () => new Promise(() => {}) })
    const engine = createEngine(
      {
        ...untold(sql),
        settle: createTestSettle(sql),
        lock: createNoLock(),
        metrics: createMetrics(),
        bus: createMemoryBus(),
        types: scriptedTypes(provider.name),
        providers: new Map([[provider.name, provider]]),
        log: pino({ level: 'silent' }),
      },
      { ...options, stopWithinMs: 50 },
    )
    engine.start()
    await makeTask(sql, { provider: provider.name })
    await until(() => expect(provider.creates).toHaveLength(1))
    await engine.stop()
  })
})

describe('secrets in parameters', () => {
  it('are nowhere in the database, and the provider does not get them', async () => {
    const { provider } = start()
    const task = await makeTask(sql, {
      provider: provider.name,
      params: { prompt: 'a fox', api_key: 'hush-1', deep: [{ 'X-Auth-Token': 'hush-2', size: 3 }] },
      metadata: { password: 'hush-3', shown: true },
    })
    await untilStatus(task, 'running')
    expect(await get(task)).toMatchObject({
      params: { prompt: 'a fox', deep: [{ size: 3 }] },
      metadata: { shown: true },
    })
    expect((await dumpTables(sql)).filter((row) => row.includes('hush'))).toEqual([])
    expect(JSON.stringify(provider.creates)).not.toContain('hush')
  })
})
