import type { CrashLab } from './crash-lab.ts'
import { runCase } from './run-case.ts'
import type { Scenario } from './scenario.ts'

/** Runs a scenario without a death and returns how often each point was passed. */
export async function recordHits(lab: CrashLab, scenario: Scenario): Promise<Map<string, number>> {
  const report = await runCase(lab, { scenario, record: true })
  if (report.died || report.violations.length > 0) {
    throw new Error(
      `"${scenario.name}" goes wrong before anybody is killed at a point: ${report.violations.join('; ') || 'the server ended by itself'}\n${report.said}`,
    )
  }
  const hits = new Map<string, number>()
  for (const point of report.passed) {
    if (scenario.around && !scenario.around.some((start) => point.startsWith(start))) continue
    hits.set(point, (hits.get(point) ?? 0) + 1)
  }
  return hits
}
