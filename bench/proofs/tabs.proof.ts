/**
 * Real tabs of a real Chromium are closed, crashed, stopped, hidden, cut off, signed out, out of room and out of time:
 * one leads, and nothing is lost.
 */
import { parseArgs } from 'node:util'
import { type Finding, misses } from '../poller/finding.ts'
import { printFindings } from '../poller/print-findings.ts'
import { full, perform, type Scenario, scenarios, short } from '../tabs/scenarios.ts'
import { openTabsLab } from '../tabs/tabs-lab.ts'

const HELP = `npm run proof -- tabs [options]

  --only TEXT    only scenarios whose name contains TEXT
  --short        the short form, as in the tests
  --seed N       another course of random events (1)
  --seeds N      so many courses one after the other, from that one on (10, in the short form 1)
  --verbose      every event as it happens`

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    short: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const seed = wholeNumber('seed', options.seed)
const count = wholeNumber('seeds', options.seeds ?? (options.short ? '1' : '10'))
const seeds = Array.from({ length: count }, (_, index) => seed + index)

const began = performance.now()
const lab = await openTabsLab()
const findings: Finding[] = []
const bySeed = new Map<number, Finding[]>()
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
  if (scenario.seed !== undefined) {
    bySeed.set(scenario.seed, [...(bySeed.get(scenario.seed) ?? []), ...found])
  }
  console.log(`\n${scenario.name}: ${Math.round((performance.now() - startedAt) / 1000)} s`)
  printFindings(found)
  if (complaint) console.log(complaint)
}

try {
  const size = { ...(options.short ? short(seeds) : full(seeds)), verbose: options.verbose }
  const chosen = scenarios(size).filter(({ name }) => name.includes(options.only))
  const aside = chosen.filter((scenario) => scenario.aside).map(show)
  for (const scenario of chosen) if (!scenario.aside) await show(scenario)
  await Promise.all(aside)
} finally {
  await lab.close()
}

if (bySeed.size > 1) {
  console.log('\n  seed  events  tasks  lost  doubled  two streams  gap, freed  gap, silent  misses')
  for (const [each, found] of bySeed) {
    const cells = [
      each,
      total(found, 'things that happened'),
      total(found, 'tasks'),
      total(found, 'submits lost'),
      total(found, 'submits sent twice'),
      `${worst(found, 'ms with two streams')} ms`,
      `${worst(found, 'ms without a stream', 'closed')} ms`,
      `${worst(found, 'ms without a stream', 'stopped')} ms`,
      misses(found).length,
    ]
    const widths = [6, 8, 7, 6, 9, 13, 12, 13, 8]
    console.log(cells.map((cell, column) => String(cell).padStart(widths[column] ?? 0)).join(''))
  }
}
const missed = misses(findings)
for (const { about, what, measured, wanted } of missed) {
  console.log(`MISSED ${about}: ${what}: ${measured}, wanted ${wanted}`)
}
const figures = {
  seed,
  seeds: seeds.length,
  lost: total(findings, 'submits lost'),
  doubled: total(findings, 'submits sent twice'),
  sentAfterDiscard: total(findings, 'submits sent after they were discarded'),
  notCancelled: total(findings, 'submits discarded under way and not cancelled'),
  findings: findings.length,
  misses: missed.length,
  broken,
  twoStreamsMs: worst(findings, 'ms with two streams'),
  gapWhenFreedMs: worst(findings, 'ms without a stream', 'closed'),
  gapWhenSilentMs: worst(findings, 'ms without a stream', 'stopped'),
  leftBehindMs: worst(findings, 'ms until it was sent', 'visible'),
  leftBehindHiddenMs: worst(findings, 'ms until it was sent', 'hidden'),
  leftBehindRestartMs: worst(findings, 'ms until it was sent', 'started again'),
  otherReleaseSyncsPerMinute: worst(findings, 'syncs a minute of the release that does not'),
  roundsWithTwoLeaders: worst(findings, 'rounds with two leaders'),
  seconds: Math.round((performance.now() - began) / 1000),
}
console.log(`\n${JSON.stringify(figures)}`)
process.exitCode = missed.length === 0 && broken === 0 && findings.length > 0 ? 0 : 1

/** The largest of what was measured under this name; null if nothing was. */
function worst(among: Finding[], what: string, about = ''): number | null {
  const values = among
    .filter((finding) => finding.what.startsWith(what) && finding.what.includes(about))
    .map(({ measured }) => Number(measured))
  return values.length === 0 ? null : Math.max(...values)
}

function total(among: Finding[], what: string): number {
  return among
    .filter((finding) => finding.what === what)
    .reduce((sum, { measured }) => sum + Number(measured), 0)
}

function wholeNumber(name: string, given: string): number {
  const value = Number(given)
  if (Number.isSafeInteger(value) && value >= 0) return value
  console.error(`--${name} is "${given}"; it must be a whole number.`)
  process.exit(1)
}
