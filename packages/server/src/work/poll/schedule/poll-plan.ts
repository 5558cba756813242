/**
 * When to poll a task next, by its age (time since acceptance) at the poll that found it unfinished. From
 * `agesMs[i]` on, wait `intervalsMs[i]`. Ages rise strictly and start at 0, so every age has an interval.
 *
 * In SQL, with both as arrays: `intervals[width_bucket(age, ages)]`.
 */
export interface PollPlan {
  readonly agesMs: readonly number[]
  readonly intervalsMs: readonly number[]
  /** No interval, jittered or not, is shorter. */
  readonly minPollMs: number
  /** Intervals vary between these parts of themselves, such as −0.05 to 0.05. */
  readonly jitter: readonly [from: number, to: number]
}

/** The interval to wait at this age, before jitter. */
export function intervalAt({ agesMs, intervalsMs, minPollMs }: PollPlan, ageMs: number): number {
  let low = 0
  let high = agesMs.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((agesMs[middle] ?? 0) <= ageMs) low = middle
    else high = middle
  }
  return intervalsMs[low] ?? minPollMs
}

/** The interval to wait at this age, with jitter. `random` is in [0, 1). */
export function nextPollMs(plan: PollPlan, ageMs: number, random: number): number {
  const [from, to] = plan.jitter
  const jittered = intervalAt(plan, ageMs) * (1 + from + random * (to - from))
  return Math.max(plan.minPollMs, Math.round(jittered))
}
