import { type DurationCurve, lagBetween } from './duration-curve.ts'
import { intervalAt, type PollPlan } from './poll-plan.ts'

export interface PlanCost {
  /** Polls per task. */
  polls: number
  /** Mean time from finish to the poll that finds it. */
  lagMs: number
}

const NEGLIGIBLE = 1e-6

/** What a plan is expected to cost per task if durations follow this curve; jitter left out. */
export function assessPlan(plan: PollPlan, curve: DurationCurve): PlanCost {
  let polls = 0
  let lagMs = 0
  let ageMs = 0
  let unfinished = 1
  while (unfinished > NEGLIGIBLE && ageMs <= curve.knownUntilMs) {
    const nextMs = ageMs + intervalAt(plan, ageMs)
    polls += unfinished
    lagMs += lagBetween(curve, ageMs, nextMs)
    unfinished = 1 - curve.finishedBy(nextMs)
    ageMs = nextMs
  }
  return { polls, lagMs }
}
