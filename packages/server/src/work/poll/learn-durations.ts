import type { Logger } from 'pino'
import type { Sql } from '../../database/connect.ts'
import { transaction } from '../../database/transaction.ts'
import { logFailure } from '../../outage-log.ts'
import type { Provider } from '../../providers/provider.ts'
import { choosePrice } from './schedule/choose-price.ts'
import { type DurationCurve, durationCurve } from './schedule/duration-curve.ts'
import {
  type DurationHistogram,
  histogramFromArray,
  histogramToArray,
  type ObservedFinish,
  observe,
} from './schedule/duration-histogram.ts'
import { expectedFinish } from './schedule/expected-finish.ts'
import { fixedSchedule } from './schedule/fixed-schedule.ts'
import { nextPollMs, type PollPlan } from './schedule/poll-plan.ts'
import { isEnoughKnown, pollPlanFor } from './schedule/poll-plan-for.ts'

export interface DurationLearner {
  /** Makes sure that every type has a plan, and reads what other processes have learned. */
  start(): Promise<void>
  learn(type: string, finish: ObservedFinish): void
  /** How long until the first poll of a task nobody watches. */
  firstPollMs(type: string, random: number): number
  /** How long one that is unfinished at this age will probably take in all; null until enough is known. */
  expectedMs(type: string, ageMs: number): number | null
  /** Writes what was learned and plans anew. */
  flush(): Promise<void>
}

/** Half of what a provider takes is for planned polls; the rest is for watched tasks and for catching up. */
const SHARE_FOR_PLANS = 0.5

/** A poll of a task that nobody watches is not worth less than this much of its lag. */
const LEAST_PRICE_MS = 1_000

/**
 * Learns how long tasks of each type take at one provider, in the database so that all replicas know, and turns it
 * into the polling plans that the claims look up.
 */
export function createDurationLearner(
  { sql, provider, types, log }: { sql: Sql; provider: Provider; types: readonly string[]; log: Logger },
  now: () => number = performance.now.bind(performance),
): DurationLearner {
  const { minPollMs } = provider.limits
  const waiting = new Map<string, ObservedFinish[]>()
  const plans = new Map<string, PollPlan>()
  const curves = new Map<string, DurationCurve>()
  let since = now()

  async function writePlan(type: string, finishes: ObservedFinish[], seconds: number): Promise<void> {
    await transaction(sql, async (tx) => {
      // There has to be a row to lock, or two that start together would both begin with nothing.
      await tx`insert into holdfast.poll_plans (provider, type) values (${provider.name}, ${type}) on conflict do nothing`
      const [row] = await tx<{ histogram: number[] }[]>`
        select histogram from holdfast.poll_plans where provider = ${provider.name} and type = ${type} for update
      `
      const histogram = finishes.reduce(
        (sum: DurationHistogram, finish) => observe(sum, finish),
        histogramFromArray(row?.histogram),
      )
      const tasks = finishes.length / Math.max(1, seconds)
      const budget = (provider.limits.query.perSecond * SHARE_FOR_PLANS) / Math.max(1, types.length)
      const pricePerPollMs = Math.max(LEAST_PRICE_MS, choosePrice([{ histogram, minPollMs, tasks }], budget))
      const plan = pollPlanFor(histogram, { pricePerPollMs, minPollMs })
      plans.set(type, plan)
      if (isEnoughKnown(histogram)) curves.set(type, durationCurve(histogram, 0))
      await tx`
        update holdfast.poll_plans set
          histogram = ${histogramToArray(histogram)}::float8[], ages_ms = ${[...plan.agesMs]}::float8[],
          intervals_ms = ${[...plan.intervalsMs]}::float8[], jitter_from = ${plan.jitter[0]}, jitter_to = ${plan.jitter[1]},
          planned_at = now()
        where provider = ${provider.name} and type = ${type}
      `
    })
  }

  return {
    async start() {
      for (const type of types) await writePlan(type, [], 1)
    },
    learn(type, finish) {
      const ofType = waiting.get(type) ?? []
      waiting.set(type, ofType)
      ofType.push(finish)
    },
    firstPollMs: (type, random) => nextPollMs(plans.get(type) ?? fixedSchedule(minPollMs), 0, random),
    expectedMs(type, ageMs) {
      const curve = curves.get(type)
      return curve ? expectedFinish(curve, ageMs) : null
    },
    async flush() {
      const seconds = (now() - since) / 1000
      since = now()
      const learned = [...waiting]
      waiting.clear()
      for (const [type, finishes] of learned) {
        try {
          await writePlan(type, finishes, seconds)
        } catch (error) {
          // What was learned is only ever a better guess; the next tasks teach it again.
          logFailure(log, error, 'durations could not be written', { type })
        }
      }
    },
  }
}
