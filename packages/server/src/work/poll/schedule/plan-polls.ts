import { durationCurve } from './duration-curve.ts'
import type { DurationHistogram } from './duration-histogram.ts'
import { fixedSchedule } from './fixed-schedule.ts'
import { intervalAt, type PollPlan } from './poll-plan.ts'

export interface PlanOptions {
  /** How many milliseconds of mean lag one poll is worth; see `choosePrice`. */
  pricePerPollMs: number
  /** The provider's minimum. */
  minPollMs: number
  /**
   * Never wait longer, however sure.
   * @default 300_000
   */
  maxIntervalMs?: number
}

/** How fine ages are told apart, as a part of the age. */
const RESOLUTION = 0.005

/** One observation's worth of "it may also be otherwise". */
const DOUBT = 1

/**
 * Tasks submitted together have to drift apart, but a learned plan aims. ±5 % of an interval costs less than 1 %
 * of lag (simulated; ±20 % costs up to 8 %), and a burst is already 3 s wide at a first poll after 30 s. To both
 * sides, so that the mean stays where the plan put it. Chance also varies where polls split the durations, from
 * which the histogram learns.
 */
const LEARNED_JITTER = [-0.05, 0.05] as const

/** Neighbouring ages share an entry of the table while their best intervals differ by less. */
const SAME_INTERVAL = 0.05

/**
 * The plan for a histogram in which enough is known; `pollPlanFor` decides whether it is.
 *
 * Dynamic programming from the oldest age down. With F(t) the part finished by age t, the cost still to come
 * from a poll at age a that found a task unfinished, per task accepted, is
 *
 *     W(a) = min over b of  (1 − F(a)) · price  +  ∫ₐᵇ (F(t) − F(a)) dt  +  W(b)
 *
 * where the integral is the lag of those that finish between a and b. Past what has been seen the fixed
 * schedule takes over. The lag term is a Monge array, so the best b never falls as a rises, which bounds the
 * search from above by the best b of the next age.
 */
export function planPolls(histogram: DurationHistogram, options: PlanOptions): PollPlan {
  const { pricePerPollMs, minPollMs, maxIntervalMs = 300_000 } = options
  const curve = durationCurve(histogram, DOUBT)
  const longestMs = Math.max(minPollMs, maxIntervalMs)
  const tail = fixedSchedule(minPollMs)
  const ages = ageGrid(curve.knownUntilMs, longestMs, minPollMs)
  const finished = Float64Array.from(ages, curve.finishedBy)
  const finishedTime = Float64Array.from(ages, curve.finishedTime)
  const cost = new Float64Array(ages.length)
  const best = new Int32Array(ages.length)

  let upper = ages.length - 1
  for (let from = ages.length - 1; from >= 0; from -= 1) {
    const age = ages[from] ?? 0
    const done = finished[from] ?? 0
    if (age >= curve.knownUntilMs) {
      const interval = Math.min(longestMs, intervalAt(tail, age))
      cost[from] = (1 - done) * (pricePerPollMs + interval / 2)
      continue
    }
    while (upper > from + 1 && (ages[upper] ?? 0) - age > longestMs) upper -= 1
    let lowest = Number.POSITIVE_INFINITY
    let lowestAt = upper
    for (let to = upper; to > from; to -= 1) {
      const interval = (ages[to] ?? 0) - age
      if (interval < minPollMs && lowest < Number.POSITIVE_INFINITY) break
      const lag = (finishedTime[to] ?? 0) - (finishedTime[from] ?? 0) - done * interval
      const total = lag + (cost[to] ?? 0)
      if (total < lowest) {
        lowest = total
        lowestAt = to
      }
    }
    cost[from] = (1 - done) * pricePerPollMs + lowest
    best[from] = lowestAt
    upper = lowestAt
  }

  const agesMs: number[] = []
  const intervalsMs: number[] = []
  function add(ageMs: number, wanted: number): void {
    const age = Math.round(ageMs)
    const interval = Math.ceil(Math.min(longestMs, Math.max(minPollMs, wanted)))
    const previous = intervalsMs.at(-1)
    if (previous !== undefined && Math.abs(interval - previous) <= SAME_INTERVAL * previous) return
    if (agesMs.at(-1) === age) {
      intervalsMs[intervalsMs.length - 1] = interval
      return
    }
    agesMs.push(age)
    intervalsMs.push(interval)
  }
  for (const [index, age] of ages.entries()) {
    if (age < curve.knownUntilMs) add(age, (ages[best[index] ?? 0] ?? 0) - age)
  }
  add(curve.knownUntilMs, intervalAt(tail, curve.knownUntilMs))
  for (const [index, age] of tail.agesMs.entries()) {
    if (age > curve.knownUntilMs) add(age, tail.intervalsMs[index] ?? minPollMs)
  }
  return { agesMs, intervalsMs, minPollMs, jitter: LEARNED_JITTER }
}

/** Even steps while they are coarser than `RESOLUTION` asks for, then growing with age. */
function ageGrid(knownUntilMs: number, longestMs: number, minPollMs: number): number[] {
  const firstStep = Math.min(250, Math.max(20, minPollMs / 8))
  const ages = [0]
  let age = 0
  while (age < knownUntilMs + longestMs) {
    age += Math.max(firstStep, age * RESOLUTION)
    ages.push(age)
  }
  return ages
}
