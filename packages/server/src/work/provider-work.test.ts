import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createFakeLock } from '../../test/fake-lock.ts'
import { makeTask } from '../../test/make-task.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { queueWork } from '../../test/queue-work.ts'
import { createScriptedProvider, type Script } from '../../test/scripted-provider.ts'
import { type StartEngineOptions, type StartedEngine, startEngine } from '../../test/start-engine.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import { ALL_LANES } from '../engine/lanes.ts'
import { createAdvisoryLock } from '../locks/advisory-lock.ts'
import type { Provider, QueryOutcome } from '../providers/provider.ts'

let database: TestDatabase
let sql: Sql
const started: StartedEngine[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url)
})
afterEach(async () => {
  await Promise.all(started.splice(0).map(({ engine }) => engine.stop()))
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

function start(provider: Provider, options: StartEngineOptions = {}): StartedEngine {
  const engine = startEngine(sql, provider, options)
  started.push(engine)
  return engine
}

/** A provider that leaves polls unanswered until it is told what to say, or they are aborted. */
function createSilentProvider(script: Script = {}) {
  const open: ((outcome: QueryOutcome) => void)[] = []
  const seen = { most: 0, now: 0, aborted: 0 }
  const scripted = createScriptedProvider(script)
  const provider: Provider = {
    ...scripted,
    query: (externalId, signal) =>
      new Promise((resolve) => {
        scripted.queries.push(externalId)
        seen.now += 1
        seen.most = Math.max(seen.most, seen.now)
        const answer = (outcome: QueryOutcome) => {
          seen.now -= 1
          resolve(outcome)
        }
        open.push(answer)
        signal.addEventListener('abort', () => {
          seen.aborted += 1
          answer({ kind: 'inconclusive', reason: 'aborted', retryAfterMs: null })
        })
      }),
  }
  return {
    provider,
    queries: scripted.queries,
    seen,
    answerAll: (outcome: QueryOutcome) => {
      for (const answer of open.splice(0)) answer(outcome)
    },
  }
}

const until = (check: () => Promise<void> | void) => vi.waitFor(check, { timeout: 10_000, interval: 5 })
const pollNow = (provider: Provider) =>
  sql`update holdfast.work set due_at = now() where provider = ${provider.name} and kind = 'poll'`
const statusesOf = async (provider: Provider) => {
  const rows = await sql<{ status: string; count: number }[]>`
    select status, count(*)::int as count from holdfast.tasks where provider = ${provider.name} group by status
  `
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}
const workOf = (taskId: string | undefined) =>
  sql<{ epoch: number; attempts: number; dueMs: number; silentSince: Date | null }[]>`
    select epoch, attempts, silent_since as "silentSince", (extract(epoch from due_at - now()) * 1000)::float8 as "dueMs"
    from holdfast.work where task_id = ${taskId ?? ''}
  `
const sharesOf = (provider: Provider) =>
  sql`select operation, in_flight from holdfast.budget_shares where provider = ${provider.name}`

describe('calls in flight', () => {
  it('stay within the limit over three replicas side by side', async () => {
    const silent = createSilentProvider({ limits: { query: { perSecond: 1e5, burst: 1e5, inFlight: 6 } } })
    await queueWork(sql, { provider: silent.provider.name, kind: 'poll', count: 30 })
    for (let replica = 0; replica < 3; replica += 1) start(silent.provider)
    await until(() => expect(silent.seen.now).toBe(6))
    await until(async () => {
      silent.answerAll({ kind: 'succeeded', outputs: [] })
      expect(await statusesOf(silent.provider)).toEqual({ completed: 30 })
    })
    expect(silent.seen.most).toBe(6)
    expect(silent.queries).toHaveLength(30)
  })

  it('stay within the limit when polls and cancels come due together', async () => {
    const now = { calls: 0, most: 0 }
    const begin = () => {
      now.calls += 1
      now.most = Math.max(now.most, now.calls)
    }
    const silent = createSilentProvider({
      limits: { query: { perSecond: 1e5, burst: 1e5, inFlight: 4 } },
      cancel: () => true,
    })
    const provider: Provider = {
      ...silent.provider,
      async query(externalId, signal) {
        begin()
        const outcome = await silent.provider.query(externalId, signal)
        now.calls -= 1
        return outcome
      },
      async cancel(externalId, signal) {
        begin()
        const outcome = await silent.provider.query(externalId, signal)
        now.calls -= 1
        return outcome.kind === 'succeeded'
      },
    }
    await queueWork(sql, { provider: provider.name, kind: 'poll', count: 20 })
    await queueWork(sql, { provider: provider.name, kind: 'cancel', count: 20 })
    start(provider)
    await until(async () => {
      silent.answerAll({ kind: 'succeeded', outputs: [] })
      expect(await sql`select from holdfast.work where provider = ${provider.name}`).toHaveLength(0)
    })
    expect(now.most).toBe(4)
  })

  it('are shown, and are none when nothing is under way', async () => {
    const silent = createSilentProvider()
    await queueWork(sql, { provider: silent.provider.name, kind: 'poll', count: 3 })
    const { metric } = start(silent.provider)
    const shown = () => metric('holdfast_calls_in_flight', 'operation="query"')
    await until(async () => expect(await shown()).toBe(3))
    silent.answerAll({ kind: 'running', progress: null })
    await until(async () => expect(await shown()).toBe(0))
  })

  it('are given back when the engine stops', async () => {
    const silent = createSilentProvider()
    await queueWork(sql, { provider: silent.provider.name, kind: 'poll', count: 3 })
    const { engine } = start(silent.provider)
    await until(async () => expect(await sharesOf(silent.provider)).toMatchObject([{ in_flight: 3 }]))
    await engine.stop()
    expect(await sharesOf(silent.provider)).toEqual([])
  })
})

describe('a create that was certainly not accepted', () => {
  it('is sent again, also if its claim ran out before that could be written down', async () => {
    const provider = createScriptedProvider({
      async create({ taskId }, nth) {
        if (nth > 1) return { kind: 'accepted', externalId: `external-${taskId}` }
        // As a claim of another replica does when PostgreSQL is back after a long while.
        await sql`
          update holdfast.work set epoch = epoch + 1, due_at = now() + interval '1 h' where task_id = ${taskId} and kind = 'send'
        `
        return { kind: 'refused', code: 'SUBMIT_REFUSED', message: 'Not now.', retryable: true }
      },
    })
    const task = await makeTask(sql, { provider: provider.name })
    start(provider, { random: () => 0 })
    await until(() => expect(provider.creates).toHaveLength(2))
    await until(async () => expect(await statusesOf(provider)).toEqual({ running: 1 }))
    expect(provider.creates.map(({ taskId }) => taskId)).toEqual([task.id, task.id])
  })
})

describe('calls that wait for their turn', () => {
  it('are made as others end, and never more at a time than the adapter takes', async () => {
    const silent = createSilentProvider({
      limits: { query: { perSecond: 1e5, burst: 1e5, inFlight: 20, atOnce: 3 } },
    })
    await queueWork(sql, { provider: silent.provider.name, kind: 'poll', count: 20 })
    const { metric } = start(silent.provider)
    await until(async () => expect(await metric('holdfast_calls_in_flight', 'operation="query"')).toBe(20))
    expect(silent.queries).toHaveLength(3)
    await until(async () => {
      silent.answerAll({ kind: 'succeeded', outputs: [] })
      expect(await statusesOf(silent.provider)).toEqual({ completed: 20 })
    })
    expect(silent.seen.most).toBe(3)
    expect(silent.queries).toHaveLength(20)
  })

  it('are handed back unmade once the claim might end before the call does', async () => {
    const leaseMarginMs = 50
    const silent = createSilentProvider({
      limits: { query: { perSecond: 1e5, burst: 1e5, inFlight: 2, atOnce: 1 } },
    })
    const tasks = await queueWork(sql, { provider: silent.provider.name, kind: 'poll', count: 2 })
    start(silent.provider, { options: { leaseMarginMs } })
    await until(() => expect(silent.queries).toHaveLength(1))
    const asked = performance.now()
    await until(() => expect(performance.now() - asked).toBeGreaterThan(leaseMarginMs))
    silent.answerAll({ kind: 'running', progress: null })
    // Claimed a second time, so it was given back; the claim that made the call is the second one.
    await until(() => expect(silent.queries).toHaveLength(2))
    const waited = tasks.find((id) => `external-${id}` === silent.queries[1])
    expect((await workOf(waited))[0]).toMatchObject({ epoch: 2, attempts: 0, silentSince: null })
  })

  it('are made soon after they were handed back, also if nobody looks for lost work', async () => {
    const silent = createSilentProvider({
      limits: { query: { perSecond: 1e5, burst: 1e5, inFlight: 2, atOnce: 1 }, callTimeoutMs: 10_000 },
    })
    await queueWork(sql, { provider: silent.provider.name, kind: 'poll', count: 2 })
    start(silent.provider, { options: { leaseMarginMs: 50, idleMs: 60_000 } })
    await until(() => expect(silent.queries).toHaveLength(1))
    await new Promise((resolve) => setTimeout(resolve, 100))
    silent.answerAll({ kind: 'running', progress: null })
    await vi.waitFor(() => expect(silent.queries).toHaveLength(2), { timeout: 2_000, interval: 5 })
  })

  it('are handed back when the engine stops', async () => {
    const silent = createSilentProvider({
      limits: { query: { perSecond: 1e5, burst: 1e5, inFlight: 10, atOnce: 2 } },
    })
    const tasks = await queueWork(sql, { provider: silent.provider.name, kind: 'poll', count: 10 })
    const { engine } = start(silent.provider)
    await until(async () => expect(await sharesOf(silent.provider)).toMatchObject([{ in_flight: 10 }]))
    await engine.stop()
    for (const taskId of tasks) {
      const [work] = await workOf(taskId)
      expect(work).toMatchObject({ attempts: 0, silentSince: null })
      expect(work?.dueMs).toBeLessThanOrEqual(0)
    }
    expect(await sharesOf(silent.provider)).toEqual([])
  })
})

describe('“not before”', () => {
  it('to a poll stops the polls of all replicas for that long, and creates go on', async () => {
    const provider = createScriptedProvider({
      query: () => ({ kind: 'inconclusive', reason: 'slow down', retryAfterMs: 60_000 }),
    })
    await queueWork(sql, { provider: provider.name, kind: 'poll', count: 1 })
    const engines = [start(provider), start(provider)]
    await until(async () => {
      const [budget] =
        await sql`select paused_until > now() + interval '50 s' as paused from holdfast.budgets where provider = ${provider.name} and operation = 'query'`
      expect(budget?.paused).toBe(true)
    })
    await queueWork(sql, { provider: provider.name, kind: 'poll', count: 5 })
    const task = await makeTask(sql, { provider: provider.name })
    for (const { engine } of engines) engine.wake()
    await until(() => expect(provider.creates.map((create) => create.taskId)).toEqual([task.id]))
    expect(provider.queries).toHaveLength(1)
    await sql`update holdfast.budgets set paused_until = now() where provider = ${provider.name}`
    await until(() => expect(provider.queries.length).toBeGreaterThanOrEqual(2))
  })

  it('to a create stops the creates of all replicas for that long', async () => {
    const provider = createScriptedProvider({
      create: (request, nth) =>
        nth === 1
          ? { kind: 'not-accepted', reason: 'slow down', retryAfterMs: 60_000 }
          : { kind: 'accepted', externalId: `external-${request.taskId}` },
      limits: { create: { perSecond: 1e5, burst: 1e5, inFlight: 1 } },
    })
    const engines = [start(provider), start(provider)]
    const first = await makeTask(sql, { provider: provider.name })
    for (const { engine } of engines) engine.wake()
    await until(async () => expect((await workOf(first.id))[0]?.dueMs).toBeGreaterThan(50_000))
    // Written after the due time.
    await until(async () => {
      const [budget] =
        await sql`select paused_until > now() + interval '50 s' as paused from holdfast.budgets where provider = ${provider.name} and operation = 'create'`
      expect(budget?.paused).toBe(true)
    })
    const second = await makeTask(sql, { provider: provider.name })
    for (const { engine } of engines) engine.wake()
    await until(async () => {
      const rows =
        await sql`select from holdfast.budget_shares where provider = ${provider.name} and in_flight > 0`
      expect(rows).toHaveLength(0)
    })
    expect(provider.creates).toHaveLength(1)
    await sql`update holdfast.budgets set paused_until = null where provider = ${provider.name}`
    await until(() => expect(provider.creates.map((create) => create.taskId)).toEqual([first.id, second.id]))
  })
})

describe('a provider that does not answer at all', () => {
  const away: QueryOutcome = { kind: 'inconclusive', reason: 'refused the connection', retryAfterMs: null }

  /** A provider that has not answered twenty times in a row. */
  async function openedCircuit(answer: (nth: number) => QueryOutcome | Promise<QueryOutcome>) {
    const provider = createScriptedProvider({
      limits: { query: { perSecond: 1e5, burst: 1e5, inFlight: 10 } },
      query: (_, nth) => (nth <= 20 ? away : answer(nth)),
    })
    await queueWork(sql, { provider: provider.name, kind: 'poll', count: 20 })
    const engine = start(provider)
    await until(async () => expect(await engine.metric('holdfast_circuit')).toBe(2))
    return { provider, ...engine }
  }

  it('is asked by one probe, and by everyone again once that is answered', async () => {
    let answerProbe = (_: QueryOutcome) => {}
    const probe = new Promise<QueryOutcome>((resolve) => {
      answerProbe = resolve
    })
    const { provider, metric } = await openedCircuit((nth) =>
      nth === 21 ? probe : { kind: 'succeeded', outputs: [] },
    )
    expect(provider.queries).toHaveLength(20)
    await until(async () => {
      await pollNow(provider)
      expect(await metric('holdfast_circuit')).toBe(1)
    })
    expect(provider.queries).toHaveLength(21)
    answerProbe({ kind: 'succeeded', outputs: [] })
    await until(async () => {
      await pollNow(provider)
      expect(await statusesOf(provider)).toEqual({ completed: 20 })
    })
    expect(await metric('holdfast_circuit')).toBe(0)
    expect(await metric('holdfast_polls_total', 'outcome="inconclusive"')).toBe(20)
  })

  it.each<[string, QueryOutcome]>([
    ['asks for patience', { kind: 'inconclusive', reason: 'busy', retryAfterMs: 10 }],
    ['still does not answer', away],
  ])('is asked again after a probe to which it %s', async (_, reply) => {
    const { provider, metric } = await openedCircuit((nth) =>
      nth === 21 ? reply : { kind: 'succeeded', outputs: [] },
    )
    await until(async () => {
      await pollNow(provider)
      expect(await statusesOf(provider)).toEqual({ completed: 20 })
    })
    await until(async () => expect(await metric('holdfast_circuit')).toBe(0))
  })

  it('is asked again after a probe that never got to ask', async () => {
    const { provider, metric } = await openedCircuit(() => ({ kind: 'succeeded', outputs: [] }))
    await sql`update holdfast.work set due_at = 'infinity' where provider = ${provider.name}`
    // The probe is a send of which nobody knows whether it was sent: it is settled without a call.
    const [lost] = await queueWork(sql, { provider: provider.name, kind: 'send' })
    await sql`update holdfast.provider_jobs set sending_at = now() where task_id = ${lost ?? ''}`
    await until(async () => expect(await statusesOf(provider)).toMatchObject({ failed: 1 }))
    expect(provider.creates).toEqual([])
    await until(async () => {
      await pollNow(provider)
      expect(await statusesOf(provider)).toEqual({ completed: 20, failed: 1 })
    })
    await until(async () => expect(await metric('holdfast_circuit')).toBe(0))
  })
})

describe('processes that are pinned to lanes', () => {
  it('serve theirs side by side, each under the lock of its lanes', async () => {
    const provider = createScriptedProvider({ query: () => ({ kind: 'succeeded', outputs: [] }) })
    const lockOf = () => createAdvisoryLock({ url: database.url, retryMs: 25, log: createMemoryLog().log })
    const [own, ...others] = ALL_LANES
    start(provider, { lock: lockOf(), options: { lanes: own ? [own] : [] } })
    start(provider, { lock: lockOf(), options: { lanes: others } })
    for (const lane of ALL_LANES) await queueWork(sql, { provider: provider.name, kind: 'poll', lane })
    await until(async () => expect(await statusesOf(provider)).toEqual({ completed: ALL_LANES.length }))
  })

  it('stand by for those that have the same lanes, in whatever order they name them', async () => {
    const provider = createScriptedProvider()
    const lock = createFakeLock()
    start(provider, { lock, options: { lanes: ['vip_long', 'vip_short'] } })
    await until(() => expect(lock.held).toContain(`provider:${provider.name}:vip_long+vip_short`))
    start(provider, { lock, options: { lanes: ['vip_short', 'vip_long'] } })
    await until(() => expect(lock.held.size).toBe(2))
    expect(lock.held).toEqual(new Set(['sweeps', `provider:${provider.name}:vip_long+vip_short`]))
  })
})

describe('the end of an engine', () => {
  it('hands polls back, due now, with their attempts and their silence as they were', async () => {
    const silent = createSilentProvider()
    const [taskId] = await queueWork(sql, { provider: silent.provider.name, kind: 'poll' })
    await sql`update holdfast.work set attempts = 4, silent_since = now() - interval '1 h' where task_id = ${taskId ?? ''}`
    const [before] = await workOf(taskId)
    const { engine } = start(silent.provider)
    await until(() => expect(silent.seen.now).toBe(1))
    await engine.stop()
    expect(silent.seen.aborted).toBe(1)
    const [after] = await workOf(taskId)
    expect(after).toMatchObject({ attempts: 4, silentSince: before?.silentSince })
    expect(after?.dueMs).toBeLessThanOrEqual(0)
  })

  it('lost locks abort the polls they guard, and nothing is claimed until one is held again', async () => {
    const silent = createSilentProvider()
    const [first] = await queueWork(sql, { provider: silent.provider.name, kind: 'poll' })
    const lock = createFakeLock()
    const { engine, metric } = start(silent.provider, { lock })
    await until(() => expect(silent.seen.now).toBe(1))
    const name = `name="provider:${silent.provider.name}"`
    expect(await metric('holdfast_lock_held', name)).toBe(1)

    lock.lose()
    await until(() => expect(silent.seen).toMatchObject({ now: 0, aborted: 1 }))
    await until(async () => expect((await workOf(first))[0]?.dueMs).toBeLessThanOrEqual(0))
    await until(async () => expect(await metric('holdfast_lock_held', name)).toBe(0))
    const [second] = await queueWork(sql, { provider: silent.provider.name, kind: 'poll' })
    engine.wake()
    expect((await workOf(second))[0]).toMatchObject({ epoch: 0 })
    expect(silent.queries).toHaveLength(1)

    lock.giveBack()
    await until(() => expect(silent.seen.now).toBe(2))
    expect(lock.held).toContain(`provider:${silent.provider.name}`)
    silent.answerAll({ kind: 'succeeded', outputs: [] })
    await until(async () => expect(await statusesOf(silent.provider)).toEqual({ completed: 2 }))
  })

  it('a create is seen through even though the lock was lost meanwhile', async () => {
    let finish = () => {}
    const provider = createScriptedProvider({
      create: (request) =>
        new Promise((resolve) => {
          finish = () => resolve({ kind: 'accepted', externalId: `external-${request.taskId}` })
        }),
    })
    const lock = createFakeLock()
    const { metric } = start(provider, { lock })
    const task = await makeTask(sql, { provider: provider.name })
    await until(() => expect(provider.creates).toHaveLength(1))
    lock.lose()
    // The lock is said to be lost at once, although the create is still under way.
    const labels = `name="provider:${provider.name}"`
    await until(async () => expect(await metric('holdfast_lock_held', labels)).toBe(0))
    finish()
    await until(async () => expect(await statusesOf(provider)).toEqual({ running: 1 }))
    lock.giveBack()
    await until(async () => expect((await workOf(task.id)).length).toBe(1))
    expect(provider.creates).toHaveLength(1)
  })
})
