import { fixed, optimumAtPolls } from './rivals.ts'
import { seededRandom } from './seeded-random.ts'
import { drawDurations } from './workloads.ts'

/** How much of the fixed schedule's lag is left to the best schedule that polls as often. */
export function optimumOfFixed(medianMs: number, sigma: number): number {
  const workload = { name: 'log-normal', minPollMs: 2_000, humps: [{ share: 1, medianMs, sigma }] }
  const durations = drawDurations(workload, 10_000, seededRandom(1))
  const { polls, lagMs } = fixed(durations)
  return optimumAtPolls(workload, durations, polls).lagMs / lagMs
}
