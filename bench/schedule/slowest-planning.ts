import { emptyHistogram } from '../../packages/server/src/work/poll/schedule/duration-histogram.ts'
import { planPolls } from '../../packages/server/src/work/poll/schedule/plan-polls.ts'

/** The median time of planning, for the histogram and price that take longest: durations up to 2 h, no hurry. */
export function slowestPlanningMs(): number {
  const histogram = { weights: emptyHistogram.weights.map(() => 1) }
  const times = [100, 1_000, 10_000, 100_000, 1_000_000].map((pricePerPollMs) => {
    const samples = Array.from({ length: 11 }, () => {
      const start = performance.now()
      planPolls(histogram, { pricePerPollMs, minPollMs: 1_000, maxIntervalMs: 600_000 })
      return performance.now() - start
    })
    return samples.sort((one, other) => one - other)[5] ?? Number.POSITIVE_INFINITY
  })
  return Math.max(...times)
}
