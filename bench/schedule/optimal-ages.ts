import { finishedBy, type Workload } from './workloads.ts'

/**
 * The ages at which to poll so that mean lag plus `price` per poll is least, by trying every pair of ages on an
 * even grid against the true distribution. Written apart from the server's planner, so that it can judge it.
 */
export function optimalAges(workload: Workload, price: number): number[] {
  const { ages, finished, finishedTime } = gridOf(workload)
  const end = ages.length - 1
  const cost = new Array<number>(ages.length).fill(0)
  const best = new Array<number>(ages.length).fill(end)
  for (let from = end - 1; from >= 0; from -= 1) {
    const age = ages[from] ?? 0
    const done = finished[from] ?? 0
    const doneTime = finishedTime[from] ?? 0
    let lowest = Number.POSITIVE_INFINITY
    for (let to = from + 1; to <= end; to += 1) {
      const interval = (ages[to] ?? 0) - age
      if (interval < workload.minPollMs && to < end) continue
      const lag = (finishedTime[to] ?? 0) - doneTime - done * interval
      // It only grows from here on, and the cost still to come is never negative.
      if (lag > lowest) break
      const total = lag + (cost[to] ?? 0)
      if (total < lowest) {
        lowest = total
        best[from] = to
      }
    }
    cost[from] = (1 - done) * price + lowest
  }

  const polled: number[] = []
  for (let at = best[0] ?? end; at < end; at = best[at] ?? end) polled.push(ages[at] ?? 0)
  return [...polled, ages[end] ?? 0]
}

interface Grid {
  ages: number[]
  finished: number[]
  finishedTime: number[]
}

const STEPS = 2_400
const grids = new WeakMap<Workload, Grid>()

/** Even steps up to the age by which all but one task in 100,000 have finished. */
function gridOf(workload: Workload): Grid {
  const made = grids.get(workload)
  if (made) return made
  let endMs = 1_000
  while (1 - finishedBy(workload, endMs) > 1e-5) endMs *= 1.05
  const step = endMs / STEPS
  const ages = Array.from({ length: STEPS + 1 }, (_, index) => index * step)
  const finished = ages.map((age) => finishedBy(workload, age))
  const finishedTime: number[] = []
  let time = 0
  for (const [index, part] of finished.entries()) {
    time += (step * (part + (finished[index - 1] ?? part))) / 2
    finishedTime.push(index === 0 ? 0 : time)
  }
  const grid = { ages, finished, finishedTime }
  grids.set(workload, grid)
  return grid
}
