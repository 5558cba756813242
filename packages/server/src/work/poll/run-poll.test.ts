import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { claimPolls } from '../../../test/claim-works.ts'
import { connectCounted } from '../../../test/counted-connection.ts'
import { createMemoryLog } from '../../../test/memory-log.ts'
import { queueWork } from '../../../test/queue-work.ts'
import { untold } from '../../../test/record-notices.ts'
import { createScriptedProvider, type ScriptedProvider } from '../../../test/scripted-provider.ts'
import { scriptedTypes } from '../../../test/scripted-types.ts'
import { createTestSettle } from '../../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { createMemoryBus } from '../../bus/memory-bus.ts'
import type { Sql } from '../../database/connect.ts'
import { ensureBudgets } from '../../engine/budgets.ts'
import { createCircuitBreaker } from '../../engine/circuit-breaker.ts'
import { ALL_LANES } from '../../engine/lanes.ts'
import { createMetrics } from '../../metrics/metrics.ts'
import type { QueryOutcome } from '../../providers/provider.ts'
import { createAftermath } from '../../tasks/aftermath.ts'
import { createProviderCalls } from '../call-provider.ts'
import type { ProviderContext } from '../provider-context.ts'
import { acceptTask } from '../send/accept-task.ts'
import type { ClaimedPoll } from './claim-polls.ts'
import type { FoundProgress } from './progress-writer.ts'
import type { Rescheduled } from './reschedule-polls.ts'
import { runPoll } from './run-poll.ts'
import type { ObservedFinish } from './schedule/duration-histogram.ts'

const LEASE_MS = 15_000

let database: TestDatabase
let sql: Sql
let statements: string[]
let answer: QueryOutcome
let provider: ScriptedProvider
beforeAll(async () => {
  database = await createTestDatabase()
  ;({ sql, statements } = connectCounted(database.url))
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})
beforeEach(async () => {
  provider = createScriptedProvider({
    query: () => answer,
    limits: { minPollMs: 1_500, callTimeoutMs: 10_000 },
  })
  await ensureBudgets(sql, provider)
})

function contextFor({ watched = false, stopping = new AbortController().signal } = {}) {
  const rescheduled: Rescheduled[] = []
  const learned: ObservedFinish[] = []
  const reported: FoundProgress[] = []
  const bus = createMemoryBus()
  if (watched) bus.subscribe('ada', () => {})
  const context: ProviderContext = {
    ...untold(sql),
    settle: createTestSettle(sql),
    accept: (accepted) => acceptTask(untold(sql), accepted),
    aftermath: createAftermath([]),
    bus,
    types: scriptedTypes(provider.name, { watchedPollMs: 2_000 }),
    log: createMemoryLog().log,
    random: () => 0.5,
    metrics: createMetrics(),
    breaker: createCircuitBreaker(),
    reschedule: { add: (item) => void rescheduled.push(item), flush: async () => {} },
    leaseMs: LEASE_MS,
    learn: (_, finish) => void learned.push(finish),
    progress: {
      report: (found) => void reported.push(found),
      isWaiting: () => false,
      take: () => null,
      flush: async () => {},
    },
    expectedMs: () => null,
    firstPollMs: () => 0,
    callbackUrl: () => undefined,
    copiesFiles: false,
    calls: createProviderCalls(provider, { log: createMemoryLog().log, metrics: createMetrics(), stopping }),
    stopping,
    givenUp: new AbortController().signal,
  }
  return { context, rescheduled, learned, reported }
}

/** A poll that was just claimed, with a plan of this interval. */
async function claimed(plannedMs: number, changes: Partial<ClaimedPoll> = {}): Promise<ClaimedPoll> {
  await sql`
    insert into holdfast.poll_plans (provider, type, ages_ms, intervals_ms, jitter_to)
    values (${provider.name}, 'image', '{0}', ${[plannedMs]}::float8[], 0)
    on conflict (provider, type) do update set intervals_ms = excluded.intervals_ms
  `
  await queueWork(sql, { provider: provider.name, kind: 'poll' })
  const [work] = await claimPolls(sql, {
    provider: provider.name,
    lanes: ALL_LANES,
    limit: 1,
    replica: 'one',
    inFlight: 0,
    leaseMs: LEASE_MS,
  })
  if (!work) throw new Error('nothing was claimed')
  return { ...work, ...changes }
}

/** What a poll sends to the database, and what it puts off. */
async function poll(work: ClaimedPoll, options: Parameters<typeof contextFor>[0] = {}) {
  const { context, ...told } = contextFor(options)
  statements.length = 0
  await runPoll(context, provider, work)
  return { ...told, breaker: context.breaker, statements: [...statements] }
}

describe('a poll that finds nothing new', () => {
  it('needs no write of its own: the claim has set the next time already', async () => {
    answer = { kind: 'running', progress: null }
    const { statements, rescheduled } = await poll(await claimed(40_000))
    expect(statements).toEqual([])
    expect(rescheduled).toEqual([])
  })

  it('nor does progress that is known already', async () => {
    answer = { kind: 'running', progress: 30 }
    const { statements, reported } = await poll(await claimed(40_000, { progress: 30 }))
    expect(statements).toEqual([])
    expect(reported).toEqual([])
  })

  it('nor does progress that is new: it is shown, and written down later with that of others', async () => {
    answer = { kind: 'running', progress: 31 }
    const work = await claimed(40_000, { progress: 30 })
    const { statements, reported } = await poll(work)
    expect(statements).toEqual([])
    expect(reported).toMatchObject([{ taskId: work.taskId, userId: work.userId, progress: 31 }])
  })

  it('nor does a place in the queue that is known already, or a new one: that is written down later', async () => {
    answer = { kind: 'running', progress: null, queuePosition: 4 }
    expect((await poll(await claimed(40_000, { queuePosition: 4 }))).reported).toEqual([])
    const { statements, reported } = await poll(await claimed(40_000))
    expect(statements).toEqual([])
    expect(reported).toMatchObject([{ progress: null, queuePosition: 4, writtenPosition: null }])
    answer = { kind: 'running', progress: null }
    expect((await poll(await claimed(40_000, { queuePosition: 4 }))).reported).toMatchObject([
      { queuePosition: null, writtenPosition: 4 },
    ])
  })

  it('is brought forward, in a batch, where the plan is shorter than a call may take', async () => {
    answer = { kind: 'running', progress: null }
    const { statements, rescheduled } = await poll(await claimed(4_000))
    expect(statements).toEqual([])
    expect(rescheduled).toMatchObject([{ delayMs: 4_000, heard: true }])
  })

  it('comes sooner while somebody watches, never under the provider’s minimum', async () => {
    answer = { kind: 'running', progress: null }
    expect((await poll(await claimed(40_000), { watched: true })).rescheduled).toMatchObject([
      { delayMs: 2_200, heard: true },
    ])
    // Where the plan is even faster, it is kept.
    expect((await poll(await claimed(1_800), { watched: true })).rescheduled).toMatchObject([
      { delayMs: 1_800 },
    ])
    expect((await poll(await claimed(100), { watched: true })).rescheduled).toMatchObject([
      { delayMs: 1_500 },
    ])
    expect((await poll(await claimed(100))).rescheduled).toMatchObject([{ delayMs: 1_500 }])
  })

  it('ends a silence', async () => {
    answer = { kind: 'running', progress: null }
    expect((await poll(await claimed(40_000, { silent: true }))).rescheduled).toMatchObject([
      { delayMs: 40_000, heard: true },
    ])
  })
})

describe('a poll that tells nothing', () => {
  it('is repeated at its pace or later, and counted', async () => {
    answer = { kind: 'inconclusive', reason: 'away', retryAfterMs: null }
    expect((await poll(await claimed(40_000))).rescheduled).toMatchObject([{ delayMs: 40_000, heard: false }])
    expect((await poll(await claimed(2_000, { attempts: 5 }))).rescheduled).toMatchObject([
      { delayMs: 30_000, heard: false },
    ])
  })

  it('is repeated no sooner than the provider asks', async () => {
    answer = { kind: 'inconclusive', reason: 'busy', retryAfterMs: 90_000 }
    expect((await poll(await claimed(40_000))).rescheduled).toMatchObject([{ delayMs: 90_000, heard: false }])
  })

  it('because we stop is handed back: due now, and counted as nothing', async () => {
    answer = { kind: 'inconclusive', reason: 'aborted', retryAfterMs: null }
    const { rescheduled, breaker } = await poll(await claimed(40_000), { stopping: AbortSignal.abort() })
    expect(rescheduled).toMatchObject([{ delayMs: 0, heard: null }])
    for (let failure = 0; failure < 19; failure += 1) breaker.failed(0)
    expect(breaker.state).toBe('closed')
  })
})

describe('a poll that finds the end', () => {
  it('takes one statement, and tells how long it took', async () => {
    answer = { kind: 'succeeded', outputs: [] }
    const work = await claimed(40_000, { polls: 3, ageMs: 100_000 })
    const { statements, rescheduled, learned } = await poll(work)
    expect(statements).toHaveLength(1)
    expect(rescheduled).toEqual([])
    // Unfinished at the poll before, about one interval earlier.
    expect(learned).toEqual([{ afterMs: 60_000, byMs: 100_000 }])
  })

  it('of our own making says nothing about durations', async () => {
    answer = { kind: 'running', progress: null }
    expect((await poll(await claimed(40_000, { overdueMs: 1 }))).learned).toEqual([])
    answer = { kind: 'cancelled' }
    expect((await poll(await claimed(40_000))).learned).toEqual([])
  })

  it('at the first poll may have come at any time before', async () => {
    answer = { kind: 'succeeded', outputs: [] }
    expect((await poll(await claimed(40_000, { polls: 1, ageMs: 90_000 }))).learned).toEqual([
      { afterMs: 0, byMs: 90_000 },
    ])
  })
})
