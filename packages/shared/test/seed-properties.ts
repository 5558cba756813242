import { appendFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect } from 'vitest'

/*
 * Every property runs with the same seed each time, so that a red test is red for everybody who runs it again. Other seeds are
 * tried by `npm run proof -- properties`, which says them here. What a property says for itself goes before both.
 */

const FIXED_SEED = 20261116

/** What became of one `fc.assert`; the proof reads it. */
export interface PropertyReport {
  file: string
  test: string
  seed: number
  runs: number
  /** Null unless it failed. */
  counterexample: { path: string | null; message: string } | null
}

const { PROPERTY_SEED, PROPERTY_RUNS, PROPERTY_REPORTS } = process.env

fc.configureGlobal({
  seed: PROPERTY_SEED === undefined ? FIXED_SEED : Number(PROPERTY_SEED),
  ...(PROPERTY_RUNS === undefined ? {} : { numRuns: Number(PROPERTY_RUNS) }),
  // To make a counterexample smaller may take longer than its test has: seed and path are enough to do that later.
  ...(PROPERTY_REPORTS === undefined ? {} : { reporter: reportTo(PROPERTY_REPORTS), endOnFailure: true }),
})

/** Throws as fast-check itself does, and leaves a line in the file first. */
export function reportTo(reports: string) {
  return (details: fc.RunDetails<unknown>): void => {
    const message = details.failed ? messageOf(details) : null
    const { testPath = '', currentTestName = '' } = expect.getState()
    const report: PropertyReport = {
      file: testPath,
      test: currentTestName,
      seed: details.seed,
      runs: details.numRuns,
      counterexample: message === null ? null : { path: details.counterexamplePath, message },
    }
    appendFileSync(reports, `${JSON.stringify(report)}\n`)
    if (message !== null) throw new Error(message, { cause: details.errorInstance })
  }
}

/** With the error itself, which fast-check leaves to the error's cause: another run may take another course. */
function messageOf(details: fc.RunDetails<unknown>): string {
  const said = fc.defaultReportMessage(details) ?? 'failed'
  const { errorInstance: error } = details
  return `${said}\n\nCaused by: ${error instanceof Error ? error.stack : String(error)}`
}
