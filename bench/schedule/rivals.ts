import { fixedSchedule } from '../../packages/server/src/work/poll/schedule/fixed-schedule.ts'
import { intervalAt } from '../../packages/server/src/work/poll/schedule/poll-plan.ts'
import { type Measured, measure, mixToPolls } from './measure.ts'
import { optimalAges } from './optimal-ages.ts'
import { finishedBy, type Workload } from './workloads.ts'

/** Fixed 30/60/120 s without jitter, all intervals stretched by the same factor. */
function stretchedFixed(stretch: number): (ageMs: number) => number {
  const fixed = fixedSchedule(0)
  return (ageMs) => ageMs + stretch * intervalAt(fixed, ageMs / stretch)
}

export function fixed(durations: readonly number[]): Measured {
  return measure(durations, stretchedFixed(1))
}

/** The fixed schedule stretched or shrunk until it polls as often. */
export function fixedAtPolls(durations: readonly number[], polls: number): Measured {
  return atPolls(polls, 0.1, 10, (stretch) => measure(durations, stretchedFixed(stretch)))
}

/** Each poll has the same chance to find a task finished, by the true distribution. */
export function equalChanceAtPolls(
  workload: Workload,
  durations: readonly number[],
  polls: number,
): Measured {
  return atPolls(
    polls,
    0.005,
    0.995,
    (unfinished) => {
      const ages: number[] = []
      let age = 0
      let left = 1
      while (left > 1e-9 && ages.length < 2_000) {
        age = Math.max(age + workload.minPollMs, ageWhenUnfinished(workload, left * unfinished))
        left = 1 - finishedBy(workload, age)
        ages.push(age)
      }
      return measure(durations, followAges(ages))
    },
    'rising',
  )
}

/** The best that any schedule can do that knows the true distribution and does not jitter. */
export function optimumAtPolls(workload: Workload, durations: readonly number[], polls: number): Measured {
  return atPolls(polls, 50, 1_000_000, (price) =>
    measure(durations, followAges(optimalAges(workload, price))),
  )
}

function followAges(ages: readonly number[]): (ageMs: number) => number {
  return (ageMs) => {
    let low = 0
    let high = ages.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ages[middle] ?? 0) > ageMs) high = middle
      else low = middle + 1
    }
    return ages[low] ?? ageMs + 120_000
  }
}

function ageWhenUnfinished(workload: Workload, unfinished: number): number {
  let low = 0
  let high = 36_000_000
  for (let step = 0; step < 50; step += 1) {
    const middle = (low + high) / 2
    if (1 - finishedBy(workload, middle) > unfinished) low = middle
    else high = middle
  }
  return high
}

/** Halves in on the parameter that gives this many polls, then mixes the two sides so that it is exact. */
function atPolls(
  polls: number,
  lowest: number,
  highest: number,
  run: (parameter: number) => Measured,
  pollsAre: 'falling' | 'rising' = 'falling',
): Measured {
  let low = lowest
  let high = highest
  let atLow = run(low)
  let atHigh = run(high)
  for (let step = 0; step < 13; step += 1) {
    const middle = Math.sqrt(low * high)
    const atMiddle = run(middle)
    if (atMiddle.polls > polls === (pollsAre === 'falling')) {
      low = middle
      atLow = atMiddle
    } else {
      high = middle
      atHigh = atMiddle
    }
  }
  return mixToPolls(atLow, atHigh, polls)
}
