import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assessPlan } from './assess-plan.ts'
import { choosePrice } from './choose-price.ts'
import { durationCurve } from './duration-curve.ts'
import { BUCKETS, type DurationHistogram, emptyHistogram, LONGEST_MS, observe } from './duration-histogram.ts'
import { fixedSchedule } from './fixed-schedule.ts'
import { planPolls } from './plan-polls.ts'
import { intervalAt, nextPollMs, type PollPlan } from './poll-plan.ts'
import { isEnoughKnown, pollPlanFor } from './poll-plan-for.ts'

const histogram: fc.Arbitrary<DurationHistogram> = fc
  .array(fc.oneof(fc.constant(0), fc.double({ min: 0, max: 50, noNaN: true })), {
    minLength: BUCKETS,
    maxLength: BUCKETS,
  })
  .map((weights) => ({ weights }))

function learned(durations: readonly number[]): DurationHistogram {
  return durations.reduce(
    (known, ms) => observe(known, { afterMs: 0, byMs: LONGEST_MS, reportedMs: ms }),
    emptyHistogram,
  )
}

/** The ages at which a task that never finishes is polled. */
function pollAges(plan: PollPlan, untilMs: number): number[] {
  const ages: number[] = []
  for (let age = intervalAt(plan, 0); age <= untilMs; age += intervalAt(plan, age)) ages.push(age)
  return ages
}

test('every age has an interval within the bounds, whatever was learned', () => {
  fc.assert(
    fc.property(
      histogram,
      fc.double({ min: 0, max: 10_000_000, noNaN: true }),
      fc.integer({ min: 0, max: 400_000 }),
      fc.integer({ min: 1_000, max: 900_000 }),
      fc.array(fc.double({ min: 0, max: 90_000_000, noNaN: true }), { maxLength: 20 }),
      (known, pricePerPollMs, minPollMs, maxIntervalMs, ages) => {
        const plan = planPolls(known, { pricePerPollMs, minPollMs, maxIntervalMs })
        expect(plan.agesMs[0]).toBe(0)
        expect(plan.intervalsMs).toHaveLength(plan.agesMs.length)
        for (const [index, age] of plan.agesMs.entries()) {
          if (index > 0) expect(age).toBeGreaterThan(plan.agesMs[index - 1] ?? 0)
        }
        for (const age of [...ages, ...plan.agesMs]) {
          const interval = intervalAt(plan, age)
          expect(interval).toBeGreaterThanOrEqual(Math.max(1, minPollMs))
          expect(interval).toBeLessThanOrEqual(Math.max(minPollMs, maxIntervalMs))
        }
      },
    ),
    { numRuns: 60 },
  )
})

test('jitter stays within its part of the interval and never below the provider’s minimum', () => {
  const known = learned(Array.from({ length: 50 }, (_, index) => 20_000 + index * 400))
  const plans = [
    fixedSchedule(2_000),
    fixedSchedule(45_000),
    planPolls(known, { pricePerPollMs: 1_000, minPollMs: 2_000 }),
  ]
  fc.assert(
    fc.property(
      fc.constantFrom(...plans),
      fc.integer({ min: 0, max: 4_000_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (plan, age, random) => {
        const interval = intervalAt(plan, age)
        const next = nextPollMs(plan, age, random)
        expect(next).toBeGreaterThanOrEqual(plan.minPollMs)
        expect(next).toBeGreaterThanOrEqual(Math.floor(interval * (1 + plan.jitter[0])))
        expect(next).toBeLessThanOrEqual(Math.ceil(Math.max(plan.minPollMs, interval * (1 + plan.jitter[1]))))
        expect(plan.jitter[1]).toBeGreaterThan(plan.jitter[0])
      },
    ),
  )
})

test('tasks that all take a minute are polled once, just after a minute', () => {
  const known = learned(new Array<number>(200).fill(60_000))
  const plan = planPolls(known, { pricePerPollMs: 20_000, minPollMs: 2_000 })
  const [first] = pollAges(plan, 600_000)
  expect(first).toBeGreaterThanOrEqual(60_000)
  expect(first).toBeLessThan(72_000)
  expect(assessPlan(plan, durationCurve(known, 0)).polls).toBeLessThan(1.15)
})

test('of two humps both are polled closely and the time between them hardly at all', () => {
  const humps = Array.from({ length: 200 }, (_, index) =>
    index % 2 ? 14_000 + index * 20 : 220_000 + index * 200,
  )
  const ages = pollAges(planPolls(learned(humps), { pricePerPollMs: 2_000, minPollMs: 2_000 }), 300_000)
  const between = (fromMs: number, toMs: number) => ages.filter((age) => age >= fromMs && age < toMs).length
  expect(between(0, 12_000)).toBe(0)
  expect(between(12_000, 25_000)).toBeGreaterThanOrEqual(2)
  expect(between(30_000, 180_000)).toBeLessThanOrEqual(1)
  expect(between(200_000, 290_000)).toBeGreaterThanOrEqual(4)
})

test('past what was ever seen a plan goes on as the fixed schedule', () => {
  const plan = planPolls(learned(new Array<number>(100).fill(20_000)), {
    pricePerPollMs: 500,
    minPollMs: 2_000,
  })
  expect(intervalAt(plan, 100_000)).toBe(30_000)
  expect(intervalAt(plan, 400_000)).toBe(60_000)
  expect(intervalAt(plan, 5_000_000)).toBe(120_000)
})

test.each([
  ['faster', 20_000, 19_000, 25_000],
  ['slower', 180_000, 150_000, 200_000],
])('a vendor that became three times %s is known again after 200 tasks', (_, durationMs, fromMs, toMs) => {
  let known = learned(Array.from({ length: 300 }, (_, index) => 45_000 + (index % 30) * 1_000))
  const plan = () => planPolls(known, { pricePerPollMs: 3_000, minPollMs: 2_000 })
  const pollsNearby = () => pollAges(plan(), 300_000).filter((age) => age >= fromMs && age < toMs).length
  const before = pollsNearby()
  for (let task = 0; task < 200; task += 1) {
    const ages = [0, ...pollAges(plan(), 600_000)]
    const found = ages.findIndex((age) => age >= durationMs)
    known = observe(known, { afterMs: ages[found - 1] ?? 0, byMs: ages[found] ?? 0 })
  }
  expect(pollsNearby()).toBeGreaterThan(before)
  const { lagMs } = assessPlan(plan(), durationCurve(learned([durationMs]), 0))
  expect(lagMs).toBeLessThan(durationMs * 0.25)
})

test('no schedule on a coarse grid is cheaper than the plan', () => {
  const known = learned(Array.from({ length: 60 }, (_, index) => 6_000 + (index % 9) * 3_000))
  const curve = durationCurve(known, 1)
  const pricePerPollMs = 3_000
  const planned = assessPlan(planPolls(known, { pricePerPollMs, minPollMs: 2_000 }), curve)
  const costOfPlan = planned.lagMs + pricePerPollMs * planned.polls

  const grid = Array.from({ length: 11 }, (_, index) => 4_000 + index * 3_500)
  let cheapest = Number.POSITIVE_INFINITY
  for (let chosen = 1; chosen < 2 ** grid.length; chosen += 1) {
    const ages = [0, ...grid.filter((_, index) => chosen & (1 << index))]
    const intervalsMs = ages.map((age, index) => (ages[index + 1] ?? age + 30_000) - age)
    const { polls, lagMs } = assessPlan(
      { agesMs: ages, intervalsMs, minPollMs: 2_000, jitter: [0, 0] },
      curve,
    )
    cheapest = Math.min(cheapest, lagMs + pricePerPollMs * polls)
  }
  expect(costOfPlan).toBeLessThan(cheapest * 1.01)
})

test('the fixed schedule is 30 s, then 60 s, then 120 s, and never below the provider’s minimum', () => {
  expect(fixedSchedule(2_000)).toMatchObject({
    agesMs: [0, 330_000, 1_530_000],
    intervalsMs: [30_000, 60_000, 120_000],
  })
  expect(fixedSchedule(90_000).intervalsMs).toEqual([90_000, 120_000])
})

test('the fixed schedule holds until thirty observations are known', () => {
  const options = { pricePerPollMs: 1_000, minPollMs: 2_000 }
  const few = learned(new Array<number>(29).fill(20_000))
  const enough = learned(new Array<number>(36).fill(20_000))
  expect(isEnoughKnown(few)).toBe(false)
  expect(pollPlanFor(few, options)).toEqual(fixedSchedule(2_000))
  expect(isEnoughKnown(enough)).toBe(true)
  expect(pollPlanFor(enough, options)).toEqual(planPolls(enough, options))
})

test('the price spends the budget and no more', () => {
  const images = learned(Array.from({ length: 200 }, (_, index) => 18_000 + index * 130))
  const videos = learned(Array.from({ length: 200 }, (_, index) => 90_000 + index * 1_500))
  const loads = [
    { histogram: images, minPollMs: 2_000, tasks: 3 },
    { histogram: videos, minPollMs: 5_000, tasks: 1 },
  ]
  for (const budget of [8, 12, 20]) {
    const pricePerPollMs = choosePrice(loads, budget)
    const spent = loads.reduce((sum, { histogram: known, minPollMs, tasks }) => {
      const plan = planPolls(known, { pricePerPollMs, minPollMs })
      return sum + tasks * assessPlan(plan, durationCurve(known, 0)).polls
    }, 0)
    expect(spent).toBeLessThanOrEqual(budget)
    expect(spent).toBeGreaterThan(budget * 0.93)
  }
})

test('with a budget to spare the price is its floor, with none its ceiling', () => {
  const load = { histogram: learned(new Array<number>(100).fill(30_000)), minPollMs: 2_000, tasks: 1 }
  expect(choosePrice([load], 1_000)).toBe(100)
  expect(choosePrice([load], 0)).toBeCloseTo(3_600_000, -1)
  expect(choosePrice([], 0)).toBe(100)
})
