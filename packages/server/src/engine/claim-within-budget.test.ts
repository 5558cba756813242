import type { Lane } from '@holdfast/shared'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimCancels, claimPolls, claimSends } from '../../test/claim-works.ts'
import { connectCounted } from '../../test/counted-connection.ts'
import { queueWork } from '../../test/queue-work.ts'
import { createScriptedProvider } from '../../test/scripted-provider.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import type { OperationLimit } from '../providers/provider.ts'
import { ensureBudgets, pauseBudget, returnShares } from './budgets.ts'
import type { ClaimOptions } from './claim-within-budget.ts'
import { ALL_LANES, LANE_WEIGHTS } from './lanes.ts'

/** A rate at which nothing comes back while a test runs. */
const HARDLY = 1e-6

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

/** A provider of its own with these limits for polls and cancels, its budget written down. */
async function providerWith(query: Partial<OperationLimit>) {
  const limit = { perSecond: HARDLY, burst: 1_000_000, inFlight: 1_000_000, ...query }
  const provider = createScriptedProvider({ limits: { query: limit, create: limit } })
  await ensureBudgets(sql, provider)
  return provider.name
}

function optionsFor(provider: string, changes: Partial<ClaimOptions> = {}): ClaimOptions {
  return {
    provider,
    lanes: ALL_LANES,
    limit: 1_000_000,
    replica: 'one',
    inFlight: 0,
    leaseMs: 15_000,
    ...changes,
  }
}

async function tokensOf(provider: string, operation = 'query'): Promise<number> {
  const [row] = await sql<{ tokens: number }[]>`
    select tokens from holdfast.budgets where provider = ${provider} and operation = ${operation}
  `
  return row?.tokens ?? Number.NaN
}

const sharesOf = (provider: string) =>
  sql<{ replica: string; inFlight: number }[]>`
    select replica, in_flight as "inFlight" from holdfast.budget_shares where provider = ${provider} order by replica
  `

/** Lets the budget believe that this much time has passed. */
const passTime = (provider: string, ms: number) =>
  sql`update holdfast.budgets set refilled_at = refilled_at - ${ms}::float8 * interval '1 ms' where provider = ${provider}`

const lanesOf = async (taskIds: string[]) => {
  const rows = await sql<{ lane: Lane; count: number }[]>`
    select lane, count(*)::int as count from holdfast.tasks where id = any(${taskIds}::uuid[]) group by lane
  `
  return Object.fromEntries(rows.map(({ lane, count }) => [lane, count]))
}

const ids = (claimed: { taskId: string }[]) => claimed.map((work) => work.taskId)

describe('the budget is spent inside the claim', () => {
  it('takes a token for each row, and none where nothing is due', async () => {
    const provider = await providerWith({ burst: 10 })
    await queueWork(sql, { provider, kind: 'poll', count: 3 })
    expect(await claimPolls(sql, optionsFor(provider))).toHaveLength(3)
    expect(await tokensOf(provider)).toBeCloseTo(7, 2)
    expect(await claimPolls(sql, optionsFor(provider))).toHaveLength(0)
    expect(await tokensOf(provider)).toBeCloseTo(7, 2)
  })

  it('lets no more through than there are whole tokens', async () => {
    const provider = await providerWith({ burst: 4.9 })
    await queueWork(sql, { provider, kind: 'poll', count: 10 })
    expect(await claimPolls(sql, optionsFor(provider))).toHaveLength(4)
    expect(await claimPolls(sql, optionsFor(provider))).toHaveLength(0)
  })

  it('fills up at the rate, and never above the burst', async () => {
    const provider = await providerWith({ perSecond: 50, burst: 5 })
    await queueWork(sql, { provider, kind: 'poll', count: 100 })
    const empty = (ms: number) => sql`
      update holdfast.budgets set tokens = 0, refilled_at = clock_timestamp() - ${ms}::float8 * interval '1 ms' where provider = ${provider}
    `
    await empty(0)
    await empty(61)
    const soon = (await claimPolls(sql, optionsFor(provider))).length
    expect(soon).toBeGreaterThanOrEqual(3)
    expect(soon).toBeLessThanOrEqual(5)
    await empty(3_600_000)
    expect(await claimPolls(sql, optionsFor(provider))).toHaveLength(5)
  })

  it('takes nothing away for a clock that went backwards', async () => {
    const provider = await providerWith({ perSecond: 50, burst: 5 })
    await queueWork(sql, { provider, kind: 'poll', count: 10 })
    await passTime(provider, -3_600_000)
    expect(await claimPolls(sql, optionsFor(provider))).toHaveLength(5)
  })

  it('counts polls and cancels together, creates apart', async () => {
    const provider = await providerWith({ burst: 5 })
    await queueWork(sql, { provider, kind: 'poll', count: 3 })
    await queueWork(sql, { provider, kind: 'cancel', count: 3 })
    await queueWork(sql, { provider, kind: 'send', count: 6 })
    expect(await claimPolls(sql, optionsFor(provider))).toHaveLength(3)
    expect(await claimCancels(sql, optionsFor(provider))).toHaveLength(2)
    expect(await claimSends(sql, optionsFor(provider))).toHaveLength(5)
    expect(await tokensOf(provider, 'create')).toBeCloseTo(0, 2)
  })

  it('lets nobody through while the provider has asked for a pause, and all again afterwards', async () => {
    const provider = await providerWith({})
    await queueWork(sql, { provider, kind: 'poll', count: 4 })
    await queueWork(sql, { provider, kind: 'send', count: 1 })
    await pauseBudget(sql, provider, 'query', 60_000)
    await pauseBudget(sql, provider, 'query', 10)
    expect(await claimPolls(sql, optionsFor(provider))).toHaveLength(0)
    expect(await claimPolls(sql, optionsFor(provider, { replica: 'two' }))).toHaveLength(0)
    // The pause is for what was asked about: creates go on.
    expect(await claimSends(sql, optionsFor(provider))).toHaveLength(1)
    await sql`update holdfast.budgets set paused_until = clock_timestamp() where provider = ${provider}`
    expect(await claimPolls(sql, optionsFor(provider))).toHaveLength(4)
  })

  it('claims nothing of a provider whose limits nobody has written down', async () => {
    await queueWork(sql, { provider: 'unheard-of', kind: 'poll' })
    expect(await claimPolls(sql, optionsFor('unheard-of'))).toHaveLength(0)
  })

  it('holds over claimers side by side: what was claimed is what was spent, whatever they ask for', async () => {
    const claimers = Array.from({ length: 3 }, () => connect(database.url, { maxConnections: 2 }))
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 40 }),
          fc.integer({ min: 0, max: 60 }),
          fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 8 }),
          async (burst, due, limits) => {
            const provider = await providerWith({ burst })
            if (due > 0) await queueWork(sql, { provider, kind: 'poll', count: due })
            const claimed = await Promise.all(
              limits.map((limit, index) =>
                claimPolls(
                  claimers[index % claimers.length] ?? sql,
                  optionsFor(provider, { limit, replica: `replica-${index}` }),
                ),
              ),
            )
            const all = claimed.flatMap(ids)
            expect(new Set(all).size).toBe(all.length)
            expect(all.length).toBe(Math.min(burst, due, sum(limits)))
            expect(await tokensOf(provider)).toBeCloseTo(burst - all.length, 2)
          },
        ),
        { numRuns: 25 },
      )
    } finally {
      await Promise.all(claimers.map((claimer) => claimer.end()))
    }
  })

  it('in real time, six claimers together get no more than the rate and the burst allow', async () => {
    const perSecond = 200
    const burst = 10
    const provider = await providerWith({ perSecond, burst })
    await queueWork(sql, { provider, kind: 'poll', count: 2_000 })
    const began = performance.now()
    const counts = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        let count = 0
        while (performance.now() - began < 600) {
          count += (await claimPolls(sql, optionsFor(provider, { replica: `r-${index}` }))).length
        }
        return count
      }),
    )
    const seconds = (performance.now() - began) / 1000
    expect(sum(counts)).toBeLessThanOrEqual(burst + perSecond * seconds)
    // And it lets them have it: not much of the time is lost between claims.
    expect(sum(counts)).toBeGreaterThan(perSecond * 0.6 * 0.5)
  })
})

describe('calls in flight are counted over all replicas', () => {
  it('leaves the others what this one does not use', async () => {
    const provider = await providerWith({ inFlight: 10 })
    await queueWork(sql, { provider, kind: 'poll', count: 50 })
    expect(await claimPolls(sql, optionsFor(provider, { replica: 'one', limit: 6 }))).toHaveLength(6)
    expect(await claimPolls(sql, optionsFor(provider, { replica: 'two' }))).toHaveLength(4)
    expect(await claimPolls(sql, optionsFor(provider, { replica: 'three' }))).toHaveLength(0)
    // Two of the first one's calls have ended; it says so with its next claim.
    expect(
      await claimPolls(sql, optionsFor(provider, { replica: 'one', inFlight: 4, limit: 1 })),
    ).toHaveLength(1)
    expect(await claimPolls(sql, optionsFor(provider, { replica: 'three' }))).toHaveLength(1)
    expect(await sharesOf(provider)).toEqual([
      { replica: 'one', inFlight: 5 },
      { replica: 'three', inFlight: 1 },
      { replica: 'two', inFlight: 4 },
    ])
  })

  it('says that its calls have ended even when it claims nothing', async () => {
    const provider = await providerWith({ inFlight: 3 })
    await queueWork(sql, { provider, kind: 'poll', count: 3 })
    await claimPolls(sql, optionsFor(provider, { replica: 'one' }))
    await claimPolls(sql, optionsFor(provider, { replica: 'one', inFlight: 0 }))
    expect(await sharesOf(provider)).toEqual([{ replica: 'one', inFlight: 0 }])
  })

  it('forgets a replica that died when its calls must have ended', async () => {
    const provider = await providerWith({ inFlight: 3 })
    await queueWork(sql, { provider, kind: 'poll', count: 6 })
    await claimPolls(sql, optionsFor(provider, { replica: 'dead' }))
    expect(await claimPolls(sql, optionsFor(provider, { replica: 'alive' }))).toHaveLength(0)
    const [share] = await sql<{ inMs: number }[]>`
      select (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as "inMs" from holdfast.budget_shares where provider = ${provider}
    `
    expect(share?.inMs).toBeGreaterThan(10_000)
    expect(share?.inMs).toBeLessThanOrEqual(15_000)
    await sql`update holdfast.budget_shares set expires_at = clock_timestamp() where provider = ${provider}`
    expect(await claimPolls(sql, optionsFor(provider, { replica: 'alive' }))).toHaveLength(3)
  })

  it('gives back at once what a replica that stops had', async () => {
    const provider = await providerWith({ inFlight: 3 })
    await queueWork(sql, { provider, kind: 'poll', count: 6 })
    await claimPolls(sql, optionsFor(provider, { replica: 'leaving' }))
    await returnShares(sql, provider, 'leaving')
    expect(await claimPolls(sql, optionsFor(provider, { replica: 'staying' }))).toHaveLength(3)
  })

  it('holds for claims that waited for each other', async () => {
    const provider = await providerWith({ inFlight: 5 })
    await queueWork(sql, { provider, kind: 'poll', count: 50 })
    // Both have begun, and with that have their view of the table, before either gets its turn.
    const blocker = await sql.reserve()
    try {
      await blocker`begin`
      await blocker`select from holdfast.budgets where provider = ${provider} for update`
      const both = Promise.all(
        ['one', 'two'].map((replica) => claimPolls(sql, optionsFor(provider, { replica }))),
      )
      await expect
        .poll(() => waitingOn('holdfast.budgets'), { timeout: 5_000, interval: 10 })
        .toBeGreaterThanOrEqual(2)
      await blocker`commit`
      expect((await both).flat()).toHaveLength(5)
    } finally {
      blocker.release()
    }
  })
})

describe('each lane has a share of its own', () => {
  const flood = (provider: string, lane: Lane, count = 150) =>
    queueWork(sql, { provider, kind: 'poll', lane, count, dueMs: -3_600_000 })

  it.each(ALL_LANES)('a flood in %s leaves the others their shares', async (flooded) => {
    const provider = await providerWith({ burst: 110 })
    for (const lane of ALL_LANES)
      await queueWork(sql, { provider, kind: 'poll', lane, count: 100, dueMs: -1_000 })
    await flood(provider, flooded)
    const claimed = await claimPolls(sql, optionsFor(provider))
    expect(await lanesOf(ids(claimed))).toEqual(
      Object.fromEntries(ALL_LANES.map((lane) => [lane, LANE_WEIGHTS[lane] * 5])),
    )
  })

  it.each(ALL_LANES)(
    'also when only one may go at a time: a flood in %s does not stop the others',
    async (flooded) => {
      const provider = await providerWith({ burst: 400 })
      for (const lane of ALL_LANES)
        await queueWork(sql, { provider, kind: 'poll', lane, count: 10, dueMs: -1_000 })
      await flood(provider, flooded)
      const claimed: string[] = []
      for (let turn = 0; turn < 120; turn += 1)
        claimed.push(...ids(await claimPolls(sql, optionsFor(provider, { limit: 1 }))))
      expect(claimed).toHaveLength(120)
      // The smallest share is an eleventh of the turns: none in 120 would happen once in 90,000 runs.
      const lanes = await lanesOf(claimed)
      for (const lane of ALL_LANES) expect(lanes[lane]).toBeGreaterThan(0)
    },
  )

  it('what one lane leaves, the others use', async () => {
    const provider = await providerWith({ burst: 50 })
    await queueWork(sql, { provider, kind: 'poll', lane: 'vip_short', count: 1 })
    await queueWork(sql, { provider, kind: 'poll', lane: 'free_default', count: 100 })
    const first = await claimPolls(sql, optionsFor(provider))
    const second = await claimPolls(sql, optionsFor(provider))
    expect(await lanesOf([...ids(first), ...ids(second)])).toEqual({ vip_short: 1, free_default: 49 })
  })

  it('a lane with nothing due takes nothing', async () => {
    const provider = await providerWith({ burst: 50 })
    await queueWork(sql, { provider, kind: 'poll', lane: 'vip_short', count: 40, dueMs: 60_000 })
    await queueWork(sql, { provider, kind: 'poll', lane: 'free_default', count: 100 })
    expect(await claimPolls(sql, optionsFor(provider))).toHaveLength(50)
  })

  it('a process that serves some lanes leaves the others alone', async () => {
    const provider = await providerWith({})
    for (const lane of ALL_LANES) await queueWork(sql, { provider, kind: 'poll', lane })
    const claimed = await claimPolls(sql, optionsFor(provider, { lanes: ['enterprise_exclusive'] }))
    expect(await lanesOf(ids(claimed))).toEqual({ enterprise_exclusive: 1 })
    const rest = await claimPolls(
      sql,
      optionsFor(provider, { lanes: ['vip_short', 'vip_long', 'free_default'] }),
    )
    expect(rest).toHaveLength(3)
  })
})

describe('processes that are pinned to different lanes', () => {
  const OWN: Lane[] = ['enterprise_exclusive']
  const OTHERS = ALL_LANES.filter((lane) => !OWN.includes(lane))
  const total = sum(Object.values(LANE_WEIGHTS))
  const share = (lanes: readonly Lane[]) => sum(lanes.map((lane) => LANE_WEIGHTS[lane])) / total

  async function flooded() {
    const provider = await providerWith({ burst: 110 })
    for (const lane of ALL_LANES) await queueWork(sql, { provider, kind: 'poll', lane, count: 150 })
    const claim = (replica: string, lanes: readonly Lane[], limit: number) =>
      claimPolls(sql, optionsFor(provider, { replica, lanes, limit }))
    return { provider, claim }
  }

  it.each([
    ['the first', OWN, OTHERS],
    ['the second', OTHERS, OWN],
  ])(
    'share the budget by the weight of their lanes: %s takes no more than its part',
    async (_, own, other) => {
      const { claim } = await flooded()
      await claim('other', other, 1)
      const claimed = (await claim('own', own, 1_000)).length
      expect(Math.abs(claimed - 109 * share(own))).toBeLessThan(OTHERS.length)
    },
  )

  it('take what the others leave: those that have nothing due, or are gone', async () => {
    const { provider, claim } = await flooded()
    await claim('other', OTHERS, 1)
    await sql`update holdfast.budget_shares set expires_at = clock_timestamp() where provider = ${provider} and replica = 'other'`
    expect(await claim('own', OWN, 1_000)).toHaveLength(109)

    const idle = await flooded()
    await idle.claim('other', OTHERS, 1)
    await sql`delete from holdfast.work where provider = ${idle.provider} and lane <> ${OWN[0] ?? ''}`
    expect(await idle.claim('own', OWN, 1_000)).toHaveLength(109)
  })
})

describe('a claim', () => {
  it('takes the longest due first', async () => {
    const provider = await providerWith({})
    const [late] = await queueWork(sql, { provider, kind: 'poll', dueMs: -1_000 })
    const [later] = await queueWork(sql, { provider, kind: 'poll', dueMs: -9_000 })
    const [latest] = await queueWork(sql, { provider, kind: 'poll', dueMs: -30_000 })
    await queueWork(sql, { provider, kind: 'poll', dueMs: 5_000 })
    const one = () => claimPolls(sql, optionsFor(provider, { limit: 1 }))
    expect(ids([...(await one()), ...(await one()), ...(await one()), ...(await one())])).toEqual([
      latest,
      later,
      late,
    ])
  })

  it('passes over what somebody else is writing at this moment instead of waiting', async () => {
    const provider = await providerWith({})
    const [held, free] = await queueWork(sql, { provider, kind: 'poll', count: 2 })
    await sql.begin(async (tx) => {
      await tx`select from holdfast.work where task_id = ${held ?? ''} for update`
      expect(ids(await claimPolls(sql, optionsFor(provider)))).toEqual([free])
    })
    expect(ids(await claimPolls(sql, optionsFor(provider)))).toEqual([held])
  })

  it('never takes the same row twice, with many claimers at once', async () => {
    const provider = await providerWith({})
    const queued = await queueWork(sql, { provider, kind: 'poll', count: 300 })
    const claimed = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        claimPolls(sql, optionsFor(provider, { limit: 20, replica: `r-${index}` })),
      ),
    )
    expect(ids(claimed.flat()).sort()).toEqual(queued.sort())
  })

  it('is one statement', async () => {
    const provider = await providerWith({})
    const counted = connectCounted(database.url)
    try {
      await queueWork(sql, { provider, kind: 'poll', count: 50 })
      await queueWork(sql, { provider, kind: 'send', count: 50 })
      await queueWork(sql, { provider, kind: 'cancel', count: 50 })
      await counted.sql`select 1`
      for (const claim of [claimPolls, claimSends, claimCancels]) {
        counted.statements.length = 0
        expect(await claim(counted.sql, optionsFor(provider))).toHaveLength(50)
        expect(counted.statements).toHaveLength(1)
      }
    } finally {
      await counted.sql.end()
    }
  })
})

async function waitingOn(relation: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${relation}%`} and pid <> pg_backend_pid()
  `
  return row?.count ?? 0
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
