import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimPolls } from '../../../test/claim-works.ts'
import { createMemoryLog } from '../../../test/memory-log.ts'
import { queueWork } from '../../../test/queue-work.ts'
import { createScriptedProvider } from '../../../test/scripted-provider.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { connect, type Sql, type Tx } from '../../database/connect.ts'
import { ensureBudgets } from '../../engine/budgets.ts'
import { ALL_LANES } from '../../engine/lanes.ts'
import type { Provider } from '../../providers/provider.ts'
import { createDurationLearner } from './learn-durations.ts'

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

function learnerFor(provider: Provider, types = ['image'], own: Sql = sql) {
  const { log, lines } = createMemoryLog()
  return { learner: createDurationLearner({ sql: own, provider, types, log }), logLines: lines }
}

/** A pool whose transactions wait, before a statement that contains this, until they are told to go on. */
function pausingBefore(statement: string) {
  let goOn = () => {}
  let reach = () => {}
  const gate = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  const slowly = (tx: Tx) =>
    new Proxy(tx, {
      apply(target, self, args: [TemplateStringsArray]) {
        if (!args[0].join('').includes(statement)) return Reflect.apply(target, self, args)
        reach()
        return gate.then(() => Reflect.apply(target, self, args))
      },
    })
  const slow = new Proxy(sql, {
    get: (target, name) =>
      name === 'begin'
        ? (work: (tx: Tx) => Promise<unknown>) => target.begin((tx) => work(slowly(tx)))
        : Reflect.get(target, name),
  })
  return { sql: slow, reached, goOn }
}

const planOf = async (provider: Provider, type = 'image') => {
  const [row] = await sql<
    { ages: number[]; intervals: number[]; observations: number; jitterFrom: number }[]
  >`
    select ages_ms as ages, intervals_ms as intervals, jitter_from as "jitterFrom",
      (select coalesce(sum(weight), 0) from unnest(histogram) weight)::float8 as observations
    from holdfast.poll_plans where provider = ${provider.name} and type = ${type}
  `
  return row
}

/** All of them took close to this long. */
function teach(learner: ReturnType<typeof learnerFor>['learner'], ms: number, times: number, type = 'image') {
  for (let time = 0; time < times; time += 1) learner.learn(type, { afterMs: ms * 0.98, byMs: ms * 1.02 })
}

describe('createDurationLearner', () => {
  it('begins with 30, 60, 120 s for every type, and says so in the database', async () => {
    const provider = createScriptedProvider()
    const { learner } = learnerFor(provider, ['image', 'video'])
    await learner.start()
    for (const type of ['image', 'video']) {
      expect(await planOf(provider, type)).toMatchObject({ intervals: [30_000, 60_000, 120_000] })
      expect(learner.firstPollMs(type, 0)).toBe(30_000)
      expect(learner.firstPollMs(type, 1)).toBe(36_000)
    }
  })

  it('knows a first interval even before it has started', () => {
    expect(learnerFor(createScriptedProvider()).learner.firstPollMs('image', 0)).toBe(30_000)
  })

  it('goes by what it has learned, once that is enough', async () => {
    const provider = createScriptedProvider()
    const { learner } = learnerFor(provider)
    await learner.start()
    teach(learner, 10_000, 10)
    await learner.flush()
    expect(await planOf(provider)).toMatchObject({ intervals: [30_000, 60_000, 120_000] })
    teach(learner, 10_000, 60)
    await learner.flush()
    const plan = await planOf(provider)
    expect(plan?.observations).toBeGreaterThan(30)
    // The first poll comes when most are done, instead of after 30 s.
    expect(plan?.intervals[0]).toBeGreaterThan(9_000)
    expect(plan?.intervals[0]).toBeLessThan(15_000)
    expect(learner.firstPollMs('image', 0.5)).toBeCloseTo(plan?.intervals[0] ?? 0, -2)
  })

  it('writes the plan that the claim then uses', async () => {
    const provider = createScriptedProvider()
    await ensureBudgets(sql, provider)
    const { learner } = learnerFor(provider)
    await learner.start()
    teach(learner, 60_000, 80)
    await learner.flush()
    const plan = await planOf(provider)
    await queueWork(sql, { provider: provider.name, kind: 'poll', ageMs: 0 })
    const [work] = await claimPolls(sql, {
      provider: provider.name,
      lanes: ALL_LANES,
      limit: 1,
      replica: 'one',
      inFlight: 0,
      leaseMs: 1_000,
    })
    const first = plan?.intervals[0] ?? 0
    expect(first).toBeGreaterThan(40_000)
    expect(work?.plannedMs).toBeGreaterThanOrEqual(first * 0.95)
    expect(work?.plannedMs).toBeLessThanOrEqual(first * 1.05)
  })

  it('takes over what others have learned', async () => {
    const provider = createScriptedProvider()
    const { learner } = learnerFor(provider)
    await learner.start()
    teach(learner, 10_000, 80)
    await learner.flush()
    const { learner: successor } = learnerFor(provider)
    await successor.start()
    expect(successor.firstPollMs('image', 0.5)).toBe(learner.firstPollMs('image', 0.5))
    expect((await planOf(provider))?.observations).toBeGreaterThan(30)
  })

  it('several processes learn together: nothing that one wrote is lost', async () => {
    const provider = createScriptedProvider()
    const learners = Array.from({ length: 4 }, () => learnerFor(provider).learner)
    await Promise.all(learners.map((learner) => learner.start()))
    for (const learner of learners) teach(learner, 10_000, 5)
    await Promise.all(learners.map((learner) => learner.flush()))
    // Twenty, each a little faded by those that came after it.
    const observations = (await planOf(provider))?.observations
    expect(observations).toBeGreaterThan(18)
    expect(observations).toBeLessThanOrEqual(20)
  })

  it('a process that starts while another learns does not make it forget', async () => {
    const provider = createScriptedProvider()
    const { learner } = learnerFor(provider)
    // It has looked, and found nothing known yet, when the other one wants to write all it knows.
    const slow = pausingBefore('ages_ms')
    const { learner: late } = learnerFor(provider, ['image'], slow.sql)
    const starting = late.start()
    await slow.reached
    const learning = learner.start().then(() => {
      teach(learner, 10_000, 20)
      return learner.flush()
    })
    // One of them may have to wait for the other.
    await Promise.race([learning, expect.poll(waiting, { timeout: 5_000, interval: 10 }).toBe(1)])
    slow.goOn()
    await Promise.all([starting, learning])
    expect((await planOf(provider))?.observations).toBeGreaterThan(18)
  })

  it('a flush that the database does not take is given up, with a word in the log', async () => {
    const provider = createScriptedProvider()
    const { learner, logLines } = learnerFor(provider)
    await learner.start()
    // Not a duration, but the histogram must not become one that nobody can read.
    learner.learn('image', { afterMs: Number.NaN, byMs: Number.NaN })
    await learner.flush()
    expect((await planOf(provider))?.observations).toBe(0)
    learner.learn('no\u0000type', { afterMs: 1, byMs: 2 })
    await learner.flush()
    expect(logLines.filter((line) => line.includes('durations could not be written'))).toHaveLength(1)
  })
})

async function waiting(): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
  `
  return row?.count ?? 0
}

describe('what users are told to expect', () => {
  it('is what others took, for its age, once enough is known; all processes that start later know it', async () => {
    const provider = createScriptedProvider()
    const { learner } = learnerFor(provider)
    await learner.start()
    expect(learner.expectedMs('image', 0)).toBeNull()
    teach(learner, 20_000, 40)
    teach(learner, 90_000, 20)
    await learner.flush()
    const { learner: later } = learnerFor(provider)
    await later.start()
    for (const each of [learner, later]) {
      expect(each.expectedMs('image', 0)).toBeGreaterThan(15_000)
      expect(each.expectedMs('image', 0)).toBeLessThan(30_000)
      // Past what most took: it is one of the slow ones.
      expect(each.expectedMs('image', 50_000)).toBeGreaterThan(75_000)
      expect(each.expectedMs('video', 0)).toBeNull()
    }
  })
})
