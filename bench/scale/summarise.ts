import type { WorkStorage } from './read-work-storage.ts'
import type { ScaleReport } from './run-scale.ts'

export interface ScaleSummary {
  tasks: number
  dueLagP99Ms: number
  rssGrowthMb: number
  bloatRatio: number
}

/** A leak of one object per poll would be more than this by the end of the shorter run. */
const FLAT_WITHIN_MB = 32
const BLOAT_WITHIN = 1.1
/** An interval begins with the claim, so lag costs a few polls. Fewer than that, and tasks were not due as often as said. */
const POLLS_AT_LEAST = 0.9

/** From the second window to the last: what the first one brings is code and connections, not tasks. */
function rssGrowthMb({ windows }: ScaleReport): number {
  return (windows.at(-1)?.rssMb ?? 0) - (windows[1]?.rssMb ?? 0)
}

/** The most that the table or an index has grown by since the end of the second window. */
function bloatRatio({ windows }: ScaleReport): number {
  const parts: (keyof WorkStorage)[] = ['tableBytes', 'dueIndexBytes', 'keyIndexBytes']
  const settled = windows[1]?.storage
  if (!settled) return Number.NaN
  return Math.max(
    ...parts.map((part) => Math.max(...windows.slice(2).map(({ storage }) => storage[part])) / settled[part]),
  )
}

/** The worst of both runs; the size is judged where tasks come round several times. */
export function summarise(rounds: ScaleReport, million: ScaleReport): ScaleSummary {
  return {
    tasks: million.run.tasks,
    dueLagP99Ms: Math.max(rounds.total.dueLagP99Ms, million.total.dueLagP99Ms),
    rssGrowthMb: Math.max(rssGrowthMb(rounds), rssGrowthMb(million)),
    bloatRatio: Number(bloatRatio(rounds).toFixed(3)),
  }
}

export function findLagShortfalls({ run, total }: ScaleReport, lagWithinMs: number): string[] {
  const shortfalls: string[] = []
  if (!(total.dueLagP99Ms < lagWithinMs)) {
    shortfalls.push(`${run.name}: due lag p99 ${total.dueLagP99Ms} ms, wanted less than ${lagWithinMs}`)
  }
  const expected = (run.tasks * run.windowMs * run.windows) / run.intervalMs
  if (!(total.polls >= expected * POLLS_AT_LEAST)) {
    shortfalls.push(`${run.name}: ${total.polls} polls, wanted about ${Math.round(expected)}`)
  }
  if (total.inconclusive > 0) shortfalls.push(`${run.name}: ${total.inconclusive} polls taught nothing`)
  return shortfalls
}

export function findGrowthShortfalls(report: ScaleReport): string[] {
  const shortfalls: string[] = []
  const growth = rssGrowthMb(report)
  if (!(growth <= FLAT_WITHIN_MB)) {
    shortfalls.push(`${report.run.name}: memory grew by ${growth} MB, wanted at most ${FLAT_WITHIN_MB}`)
  }
  return shortfalls
}

export function findBloatShortfalls(report: ScaleReport): string[] {
  const ratio = bloatRatio(report)
  if (ratio <= BLOAT_WITHIN) return []
  return [
    `${report.run.name}: the table or an index grew to ${ratio.toFixed(3)}, wanted at most ${BLOAT_WITHIN}`,
  ]
}
