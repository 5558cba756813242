export interface Measured {
  /** Polls per task. */
  polls: number
  /** Mean time from finish to the poll that found it. */
  lagMs: number
}

/** Polls each task, `next` giving the age of the poll after the one at `ageMs`, until it is found finished. */
export function measure(durations: readonly number[], next: (ageMs: number) => number): Measured {
  let polls = 0
  let lag = 0
  for (const duration of durations) {
    let age = 0
    while (age < duration) {
      age = next(age)
      polls += 1
    }
    lag += age - duration
  }
  return { polls: polls / durations.length, lagMs: lag / durations.length }
}

/** Figures of a mixture of two schedules, some tasks polled by the one and some by the other. */
export function mixToPolls(one: Measured, other: Measured, polls: number): Measured {
  if (one.polls === other.polls) return one
  const part = (polls - other.polls) / (one.polls - other.polls)
  return { polls, lagMs: part * one.lagMs + (1 - part) * other.lagMs }
}
