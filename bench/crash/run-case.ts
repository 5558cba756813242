import type { CaseReport, CrashCase } from './crash-case.ts'
import type { CrashLab } from './crash-lab.ts'
import { runAsk } from './run-ask.ts'
import { runTidy } from './run-tidy.ts'
import { runWish } from './run-wish.ts'

/** A server dying at the given point and another one started after it. */
export function runCase(lab: CrashLab, { scenario, ...crash }: CrashCase): Promise<CaseReport> {
  if ('asks' in scenario) return runAsk(lab, { ...crash, scenario })
  return 'tidy' in scenario ? runTidy(lab, { ...crash, scenario }) : runWish(lab, { ...crash, scenario })
}
