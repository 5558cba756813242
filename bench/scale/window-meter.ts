import type { QueryOutcome } from '../../packages/server/src/providers/provider.ts'
import { createMillisecondHistogram } from './millisecond-histogram.ts'
import type { WindowReport } from './scale-run.ts'

export interface WindowMeter {
  claimed(lagMs: number): void
  claimTook(ms: number): void
  answered(outcome: QueryOutcome['kind'], sinceDueMs: number): void
  sampleMemory(): void
  read(): WindowReport
}

const MEGABYTE = 2 ** 20

export function createWindowMeter(): WindowMeter {
  const lags = createMillisecondHistogram()
  const claims = createMillisecondHistogram()
  const answers = createMillisecondHistogram()
  const memory = createMillisecondHistogram()
  const cpuBefore = process.cpuUsage()
  let inconclusive = 0

  return {
    claimed: lags.observe,
    claimTook: claims.observe,
    answered(outcome, sinceDueMs) {
      answers.observe(sinceDueMs)
      if (outcome === 'inconclusive') inconclusive += 1
    },
    sampleMemory: () => memory.observe(process.memoryUsage.rss() / MEGABYTE),
    read() {
      const cpu = process.cpuUsage(cpuBefore)
      return {
        polls: answers.count,
        inconclusive,
        dueLagP50Ms: lags.percentile(0.5),
        dueLagP99Ms: lags.percentile(0.99),
        dueLagMaxMs: lags.max,
        answeredP99Ms: answers.percentile(0.99),
        claims: claims.count,
        claimP50Ms: claims.percentile(0.5),
        claimP99Ms: claims.percentile(0.99),
        rssMb: memory.percentile(0.5),
        cpuSeconds: (cpu.user + cpu.system) / 1e6,
      }
    },
  }
}
