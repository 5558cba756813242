/** Real tabs of a real Chromium are closed, crashed, stopped, hidden and cut off: one leads, and nothing is lost. */
import { parseArgs } from 'node:util'
import { type Finding, misses } from '../poller/finding.ts'
import { printFindings } from '../poller/print-findings.ts'
import { FULL, perform, type Scenario, SHORT, scenarios } from '../tabs/scenarios.ts'
import { openTabsLab } from '../tabs/tabs-lab.ts'

const HELP = `npm run proof -- tabs [options]

  --only TEXT    only scenarios whose name contains TEXT
  --short        the short form, as in the tests
  --seed N       another course of random events (1)
  --verbose      every event as it happens`

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    short: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const seed = Number(options.seed)
if (!Number.isSafeInteger(seed)) {
  console.error(`--seed is "${options.seed}"; it must be a whole number.`)
  process.exit(1)
}

const began = performance.now()
const lab = await openTabsLab()
const findings: Finding[] = []
let broken = 0

async function show(scenario: Scenario): Promise<void> {
  const startedAt = performance.now()
  let found: Finding[] = []
  let complaint = ''
  try {
    found = await perform(lab, scenario)
  } catch (error) {
    broken++
    complaint = `BROKEN OFF: ${error instanceof Error ? error.stack : String(error)}`
  }
  findings.push(...found)
  console.log(`\n${scenario.name}: ${Math.round((performance.now() - startedAt) / 1000)} s`)
  printFindings(found)
  if (complaint) console.log(complaint)
}

try {
  const size = { ...(options.short ? SHORT : FULL), seed, verbose: options.verbose }
  const chosen = scenarios(size).filter(({ name }) => name.includes(options.only))
  const aside = chosen.filter((scenario) => scenario.aside).map(show)
  for (const scenario of chosen) if (!scenario.aside) await show(scenario)
  await Promise.all(aside)
} finally {
  await lab.close()
}

const missed = misses(findings)
const figures = {
  seed,
  findings: findings.length,
  misses: missed.length,
  broken,
  twoStreamsMs: worst('ms with two streams'),
  gapWhenFreedMs: worst('ms without a stream', 'closed'),
  gapWhenSilentMs: worst('ms without a stream', 'stopped'),
  roundsWithTwoLeaders: worst('rounds with two leaders'),
  seconds: Math.round((performance.now() - began) / 1000),
}
console.log(`\n${JSON.stringify(figures)}`)
process.exitCode = missed.length === 0 && broken === 0 && findings.length > 0 ? 0 : 1

/** The largest of what was measured under this name; null if nothing was. */
function worst(what: string, about = ''): number | null {
  const values = findings
    .filter((finding) => finding.what.startsWith(what) && finding.what.includes(about))
    .map(({ measured }) => Number(measured))
  return values.length === 0 ? null : Math.max(...values)
}
