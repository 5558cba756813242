import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimPolls } from '../../../test/claim-works.ts'
import { queueWork } from '../../../test/queue-work.ts'
import { createScriptedProvider } from '../../../test/scripted-provider.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { connect, type Sql } from '../../database/connect.ts'
import { ensureBudgets } from '../../engine/budgets.ts'
import { ALL_LANES } from '../../engine/lanes.ts'
import type { ClaimedPoll } from './claim-polls.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url)
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

const NO_JITTER = [0, 0] as const

interface Plan {
  agesMs: number[]
  intervalsMs: number[]
  jitter?: readonly [from: number, to: number]
}

async function providerWith(plans: Record<string, Plan> = {}): Promise<string> {
  const provider = createScriptedProvider()
  await ensureBudgets(sql, provider)
  for (const [type, { agesMs, intervalsMs, jitter = NO_JITTER }] of Object.entries(plans)) {
    await sql`
      insert into holdfast.poll_plans (provider, type, ages_ms, intervals_ms, jitter_from, jitter_to)
      values (${provider.name}, ${type}, ${agesMs}::float8[], ${intervalsMs}::float8[], ${jitter[0]}, ${jitter[1]})
    `
  }
  return provider.name
}

const claim = (provider: string, leaseMs = 15_000) =>
  claimPolls(sql, { provider, lanes: ALL_LANES, limit: 1_000, replica: 'one', inFlight: 0, leaseMs })

async function databaseMs(): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`select (extract(epoch from now()) * 1000)::float8 as ms`
  return row?.ms ?? Number.NaN
}

/** When each comes due again, from now. */
async function dueIn(claimed: readonly ClaimedPoll[]): Promise<number[]> {
  const rows = await sql<{ dueMs: number }[]>`
    select (extract(epoch from due_at - now()) * 1000)::float8 as "dueMs" from holdfast.work
    where task_id = any(${claimed.map((work) => work.taskId)}::uuid[]) order by due_at
  `
  return rows.map((row) => row.dueMs)
}

describe('a claimed poll comes due again by itself', () => {
  const planned = {
    agesMs: [0, 60_000, 600_000],
    intervalsMs: [20_000, 40_000, 80_000],
  }

  it.each([
    [0, 20_000],
    [59_000, 20_000],
    [61_000, 40_000],
    [599_000, 40_000],
    [5_000_000, 80_000],
  ])('at the age of %i ms after the %i ms that the plan of its type says', async (ageMs, expected) => {
    const provider = await providerWith({ image: planned, other: { agesMs: [0], intervalsMs: [1] } })
    await queueWork(sql, { provider, kind: 'poll', ageMs })
    const claimed = await claim(provider)
    expect(claimed).toMatchObject([{ plannedMs: expected }])
    expect(claimed[0]?.ageMs).toBeGreaterThanOrEqual(ageMs)
    const [due] = await dueIn(claimed)
    expect(due).toBeLessThanOrEqual(expected + 100)
    expect(due).toBeGreaterThan(expected - 5_000)
  })

  it('at a tenth of a second, and never sooner than planned', async () => {
    const provider = await providerWith({
      image: { agesMs: [0], intervalsMs: [60_000], jitter: [-0.1, 0.1] },
    })
    await queueWork(sql, { provider, kind: 'poll', count: 50 })
    const before = await databaseMs()
    const claimed = await claim(provider)
    const after = await databaseMs()
    const planned = new Map(claimed.map((work) => [work.taskId, work.plannedMs]))
    const rows = await sql<{ taskId: string; dueMs: number }[]>`
      select task_id as "taskId", (extract(epoch from due_at) * 1000)::float8 as "dueMs"
      from holdfast.work where task_id = any(${[...planned.keys()]}::uuid[])
    `
    expect(rows).toHaveLength(50)
    for (const { taskId, dueMs } of rows) {
      expect(dueMs % 100).toBe(0)
      const claimedMs = dueMs - (planned.get(taskId) ?? Number.NaN)
      // A microsecond is as exact as it gets.
      expect(claimedMs).toBeGreaterThan(before - 0.01)
      expect(claimedMs).toBeLessThanOrEqual(after + 100)
    }
  })

  it('even if its acceptance is in the future, by the clock of a database that was set back', async () => {
    const provider = await providerWith({ image: planned })
    const [taskId] = await queueWork(sql, { provider, kind: 'poll' })
    await sql`update holdfast.provider_jobs set accepted_at = now() + interval '1 h' where task_id = ${taskId ?? ''}`
    expect(await claim(provider)).toMatchObject([{ plannedMs: 20_000 }])
  })

  it('after 30 s while its type has no plan', async () => {
    const provider = await providerWith({ video: planned })
    await queueWork(sql, { provider, kind: 'poll', type: 'image' })
    expect(await claim(provider)).toMatchObject([{ plannedMs: 30_000 }])
  })

  it('within the jitter of the plan, and not all at the same time', async () => {
    const provider = await providerWith({
      image: { agesMs: [0], intervalsMs: [100_000], jitter: [-0.05, 0.1] },
    })
    await queueWork(sql, { provider, kind: 'poll', count: 200 })
    const claimed = await claim(provider)
    const plans = claimed.map((work) => work.plannedMs).sort((a, b) => a - b)
    expect(plans[0]).toBeGreaterThanOrEqual(95_000)
    expect(plans.at(-1)).toBeLessThanOrEqual(110_000)
    // Spread over the whole of it: each third of the range has its part.
    for (const from of [95_000, 100_000, 105_000]) {
      expect(plans.filter((ms) => ms >= from && ms < from + 5_000).length).toBeGreaterThan(30)
    }
    expect((await dueIn(claimed)).at(-1)).toBeGreaterThan(100_000)
  })

  it('each with a jitter of its own, even if they were accepted at the same moment', async () => {
    const provider = await providerWith({ image: { agesMs: [0], intervalsMs: [100_000], jitter: [0, 0.1] } })
    const tasks = await queueWork(sql, { provider, kind: 'poll', count: 5_000 })
    await sql`update holdfast.provider_jobs set accepted_at = now() where task_id = any(${tasks}::uuid[])`
    // The planner decides by its statistics whether to remember what it has looked up.
    await sql`analyze holdfast.work, holdfast.tasks, holdfast.provider_jobs, holdfast.poll_plans`
    const plans = (await claim(provider)).map((work) => work.plannedMs)
    expect(new Set(plans).size).toBe(1_000)
  })

  it('never sooner than a call may take, however short the plan is', async () => {
    const provider = await providerWith({ image: { agesMs: [0], intervalsMs: [2_000] } })
    await queueWork(sql, { provider, kind: 'poll', count: 5 })
    const claimed = await claim(provider, 25_000)
    expect(claimed[0]?.plannedMs).toBe(2_000)
    for (const due of await dueIn(claimed)) expect(due).toBeGreaterThan(20_000)
  })
})

describe('a claimed poll', () => {
  it('brings what is needed to make it and to judge its answer', async () => {
    const provider = await providerWith()
    const [taskId = ''] = await queueWork(sql, {
      provider,
      kind: 'poll',
      userId: 'grace',
      dueMs: -7_000,
      ageMs: 90_000,
    })
    await sql`update holdfast.tasks set progress = 40 where id = ${taskId}`
    const [work] = await claim(provider)
    expect(work).toMatchObject({
      taskId,
      userId: 'grace',
      type: 'image',
      progress: 40,
      externalId: `external-${taskId}`,
      traceId: 'trace',
      epoch: 1,
      polls: 1,
      attempts: 0,
      silent: false,
    })
    for (const [value, about] of [
      [work?.lagMs, 7_000],
      [work?.ageMs, 90_000],
      [work?.overdueMs, -600_000],
    ] as const) {
      expect(value).toBeGreaterThanOrEqual(about - 1)
      expect(value).toBeLessThan(about + 5_000)
    }
  })

  it('counts itself and raises the epoch each time', async () => {
    const provider = await providerWith()
    const [taskId = ''] = await queueWork(sql, { provider, kind: 'poll' })
    for (const time of [1, 2, 3]) {
      await sql`update holdfast.work set due_at = now() where task_id = ${taskId}`
      expect(await claim(provider)).toMatchObject([{ epoch: time, polls: time }])
    }
    await sql`update holdfast.work set due_at = now(), silent_since = now(), attempts = 4 where task_id = ${taskId}`
    expect(await claim(provider)).toMatchObject([{ attempts: 4, silent: true }])
  })
})
