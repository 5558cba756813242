import { type DurationHistogram, effectiveObservations } from './duration-histogram.ts'
import { fixedSchedule } from './fixed-schedule.ts'
import { type PlanOptions, planPolls } from './plan-polls.ts'
import type { PollPlan } from './poll-plan.ts'

/**
 * Thirty finished tasks tell what part of all finishes by a given age to ±9 points (√(¼ / 30)): enough to beat a
 * schedule that knows nothing, while with fewer one odd task still moves the plan. As weights fade, it takes 34.
 */
const ENOUGH_OBSERVATIONS = 30

export function isEnoughKnown(histogram: DurationHistogram): boolean {
  return effectiveObservations(histogram) >= ENOUGH_OBSERVATIONS
}

/** The learned plan, or the fixed one until enough is known. */
export function pollPlanFor(histogram: DurationHistogram, options: PlanOptions): PollPlan {
  return isEnoughKnown(histogram) ? planPolls(histogram, options) : fixedSchedule(options.minPollMs)
}
