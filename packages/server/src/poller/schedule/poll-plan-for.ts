import { type DurationHistogram, effectiveObservations } from './duration-histogram.ts'
import { fixedSchedule } from './fixed-schedule.ts'
import { type PlanOptions, planPolls } from './plan-polls.ts'
import type { PollPlan } from './poll-plan.ts'

/**
 * Thirty finished tasks tell the middle half of a distribution to about ±9 % of all tasks, which is enough to beat a
 * schedule that knows nothing; fewer, and one odd task still moves the plan.
 */
export const ENOUGH_OBSERVATIONS = 30

export function isEnoughKnown(histogram: DurationHistogram): boolean {
  return effectiveObservations(histogram) >= ENOUGH_OBSERVATIONS
}

/** The learned plan, or the fixed one until enough is known. */
export function pollPlanFor(histogram: DurationHistogram, options: PlanOptions): PollPlan {
  return isEnoughKnown(histogram) ? planPolls(histogram, options) : fixedSchedule(options.minPollMs)
}
