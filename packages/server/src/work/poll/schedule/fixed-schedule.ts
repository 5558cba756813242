import { unwatchedPollMs } from '../poll-delay.ts'
import type { PollPlan } from './poll-plan.ts'

/** As many polls as it takes to come to the last step of `unwatchedPollMs`, with room. */
const POLLS_LOOKED_AT = 100

/**
 * The schedule until enough is known, as a plan: 30 s, from the 11th poll 60 s, from the 31st 120 s, or the provider's
 * minimum.
 */
export function fixedSchedule(minPollMs: number): PollPlan {
  const agesMs: number[] = []
  const intervalsMs: number[] = []
  let ageMs = 0
  for (let polls = 0; polls < POLLS_LOOKED_AT; polls += 1) {
    const interval = Math.max(minPollMs, unwatchedPollMs(polls))
    if (interval !== intervalsMs.at(-1)) {
      agesMs.push(ageMs)
      intervalsMs.push(interval)
    }
    ageMs += interval
  }
  // Only ever later, as `pollDelay` does: these intervals are a promise about how often we ask at most.
  return { agesMs, intervalsMs, minPollMs, jitter: [0, 0.2] }
}
