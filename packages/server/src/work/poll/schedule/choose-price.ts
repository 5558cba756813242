import { assessPlan } from './assess-plan.ts'
import { durationCurve } from './duration-curve.ts'
import type { DurationHistogram } from './duration-histogram.ts'
import { type PlanOptions, planPolls } from './plan-polls.ts'

/** Tasks that share one budget of polls, by type. */
export interface PollLoad {
  histogram: DurationHistogram
  minPollMs: number
  /** Tasks per second, or any other measure that the budget is in. */
  tasks: number
}

/**
 * Below it a poll is asked for to save a tenth of a second of somebody's wait: not worth the write it costs us,
 * whatever the provider's limit would allow.
 */
const LOWEST_PRICE_MS = 100
/** An hour of lag per poll: past it no plan polls less. */
const HIGHEST_PRICE_MS = 3_600_000
const HALVINGS = 16

/**
 * The lowest price at which these tasks are expected to need no more than `budget` polls, in the unit of
 * `tasks`: with tasks per second it is polls per second, with `tasks: 1` polls per task. One price for all types
 * of a provider is what makes their summed lag least: a poll goes where it saves most.
 */
export function choosePrice(
  loads: readonly PollLoad[],
  budget: number,
  options: Omit<PlanOptions, 'pricePerPollMs' | 'minPollMs'> = {},
): number {
  const curves = loads.map(({ histogram }) => durationCurve(histogram, 0))
  const pollsAt = (pricePerPollMs: number) =>
    loads.reduce((sum, { histogram, minPollMs, tasks }, index) => {
      const curve = curves[index]
      const plan = planPolls(histogram, { ...options, minPollMs, pricePerPollMs })
      return curve ? sum + tasks * assessPlan(plan, curve).polls : sum
    }, 0)

  let low = Math.log(LOWEST_PRICE_MS)
  let high = Math.log(HIGHEST_PRICE_MS)
  if (pollsAt(LOWEST_PRICE_MS) <= budget) return LOWEST_PRICE_MS
  for (let step = 0; step < HALVINGS; step += 1) {
    const middle = (low + high) / 2
    if (pollsAt(Math.exp(middle)) > budget) low = middle
    else high = middle
  }
  return Math.exp(high)
}
