import { assessPlan } from '../../packages/server/src/work/poll/schedule/assess-plan.ts'
import { choosePrice } from '../../packages/server/src/work/poll/schedule/choose-price.ts'
import { durationCurve } from '../../packages/server/src/work/poll/schedule/duration-curve.ts'
import {
  type DurationHistogram,
  emptyHistogram,
  observe,
} from '../../packages/server/src/work/poll/schedule/duration-histogram.ts'
import { fixedSchedule } from '../../packages/server/src/work/poll/schedule/fixed-schedule.ts'
import { nextPollMs, type PollPlan } from '../../packages/server/src/work/poll/schedule/poll-plan.ts'
import { isEnoughKnown, pollPlanFor } from '../../packages/server/src/work/poll/schedule/poll-plan-for.ts'

interface Learned {
  histogram: DurationHistogram
  plan: PollPlan
}

const REPLAN_EVERY = 25

/** The plan that spends as many polls per task as the fixed schedule would, as far as the histogram can tell. */
function planAtFixedPolls(histogram: DurationHistogram, minPollMs: number): PollPlan {
  if (!isEnoughKnown(histogram)) return fixedSchedule(minPollMs)
  const budget = assessPlan(fixedSchedule(minPollMs), durationCurve(histogram, 0)).polls
  const pricePerPollMs = choosePrice([{ histogram, minPollMs, tasks: 1 }], budget)
  return pollPlanFor(histogram, { minPollMs, pricePerPollMs })
}

/** Polls tasks one after the other by the plan so far, and learns from nothing but what those polls found. */
export function learnByPolling(
  durations: readonly number[],
  minPollMs: number,
  random: () => number,
  start: DurationHistogram = emptyHistogram,
): Learned {
  let histogram = start
  let plan = planAtFixedPolls(histogram, minPollMs)
  for (const [index, duration] of durations.entries()) {
    let afterMs = 0
    let byMs = nextPollMs(plan, 0, random())
    while (byMs < duration) {
      afterMs = byMs
      byMs += nextPollMs(plan, byMs, random())
    }
    histogram = observe(histogram, { afterMs, byMs })
    if ((index + 1) % REPLAN_EVERY === 0) plan = planAtFixedPolls(histogram, minPollMs)
  }
  return { histogram, plan: planAtFixedPolls(histogram, minPollMs) }
}
