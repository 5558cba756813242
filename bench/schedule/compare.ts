import { nextPollMs } from '../../packages/server/src/work/poll/schedule/poll-plan.ts'
import { learnByPolling } from './learn-by-polling.ts'
import { type Measured, measure } from './measure.ts'
import { equalChanceAtPolls, fixed, fixedAtPolls, optimumAtPolls } from './rivals.ts'
import { seededRandom } from './seeded-random.ts'
import { drawDurations, fasterBy, type Workload } from './workloads.ts'

/** All but `fixed` at the number of polls that ours took. */
export interface Comparison {
  ours: Measured
  fixed: Measured
  fixedAtPolls: Measured
  equalChance: Measured
  optimum: Measured
}

export interface CompareOptions {
  /** Learning depends on chance, so it is done this often, each time from nothing. */
  runs: number
  /** Tasks learned from, starting cold. */
  learnFrom: number
  /** Then the vendor becomes this much faster, and `relearnFrom` more tasks are learned from. */
  speedUp?: number
  relearnFrom?: number
}

const FRESH_TASKS = 5_000

export function compare(workload: Workload, options: CompareOptions): Comparison {
  const { runs: count, learnFrom, speedUp = 1, relearnFrom = 0 } = options
  const { minPollMs } = workload
  const now = fasterBy(workload, speedUp)
  const runs = Array.from({ length: count }, (_, run): Comparison => {
    const random = seededRandom(1_000 + run)
    const before = learnByPolling(drawDurations(workload, learnFrom, random), minPollMs, random)
    const { plan } = learnByPolling(
      drawDurations(now, relearnFrom, random),
      minPollMs,
      random,
      before.histogram,
    )
    const fresh = drawDurations(now, FRESH_TASKS, random)
    const ours = measure(fresh, (ageMs) => ageMs + nextPollMs(plan, ageMs, random()))
    return {
      ours,
      fixed: fixed(fresh),
      fixedAtPolls: fixedAtPolls(fresh, ours.polls),
      equalChance: equalChanceAtPolls(now, fresh, ours.polls),
      optimum: optimumAtPolls(now, fresh, ours.polls),
    }
  })
  const mean = (of: (comparison: Comparison) => Measured): Measured => ({
    polls: runs.reduce((sum, run) => sum + of(run).polls, 0) / count,
    lagMs: runs.reduce((sum, run) => sum + of(run).lagMs, 0) / count,
  })
  return {
    ours: mean(({ ours }) => ours),
    fixed: mean(({ fixed }) => fixed),
    fixedAtPolls: mean(({ fixedAtPolls }) => fixedAtPolls),
    equalChance: mean(({ equalChance }) => equalChance),
    optimum: mean(({ optimum }) => optimum),
  }
}
