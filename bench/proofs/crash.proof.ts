/** A server killed at every await that changes something: nothing is lost, sent, told or stored twice. */
import { parseArgs } from 'node:util'
import { chooseKills } from '../crash/choose-kills.ts'
import type { CaseReport, CrashCase } from '../crash/crash-case.ts'
import { openCrashLab } from '../crash/crash-lab.ts'
import { findStale } from '../crash/find-stale.ts'
import { recordHits } from '../crash/record-hits.ts'
import { runCase } from '../crash/run-case.ts'
import { runInLanes } from '../crash/run-in-lanes.ts'
import { REPLY_UNDER_WAY, SCENARIOS } from '../crash/scenarios.ts'
import { whyUnreached } from '../crash/unreached.ts'

const HELP = `npm run proof -- crash [options]

  --scenario S   only the scenarios whose name contains S
  --only TEXT    only scenarios and points whose name contains TEXT
  --hits N       points passed up to N times die at every passing (2), others at the first and half-way
  --once         every point in one scenario only, the first that passes it, at its first passing
  --record       nobody is killed: only finds the awaits that no scenario passes
  --lanes N      cases at a time (3)
  --verbose      what the servers said in a case that went wrong`

const { values: options } = parseArgs({
  options: {
    scenario: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    hits: { type: 'string', default: '2' },
    once: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    lanes: { type: 'string', default: '3' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}

interface Row {
  name: string
  point: string
  hits: number
  reports: CaseReport[]
}

const UNEXPLAINED = 'Nobody has said why: add a scenario, or the reason in bench/crash/unreached.ts.'

const began = performance.now()
const lab = await openCrashLab()
const rows: Row[] = []
const passed = new Set<string>()
try {
  const jobs: { row: Row; crash: CrashCase }[] = []
  const scenarios = SCENARIOS.filter(({ name }) => name.includes(options.scenario))
  const recorded = await runInLanes(scenarios, Number(options.lanes), async (scenario) => ({
    scenario,
    hits: await recordHits(lab, scenario),
  }))
  for (const { scenario, hits } of recorded) {
    const isKnown = new Set(passed)
    for (const point of hits.keys()) passed.add(point)
    if (options.record) continue
    for (const kill of chooseKills(scenario, hits, Number(options.hits))) {
      if (!`${scenario.name} ${kill.point}`.includes(options.only)) continue
      if (options.once && (isKnown.has(kill.point) || kill.hit > 1)) continue
      let row = rows.find(({ name, point }) => name === scenario.name && point === kill.point)
      if (!row) {
        row = { name: scenario.name, point: kill.point, hits: hits.get(kill.point) ?? 0, reports: [] }
        rows.push(row)
      }
      jobs.push({ row, crash: { scenario, kill } })
    }
  }
  if (!options.record && REPLY_UNDER_WAY.name.includes(options.scenario)) {
    const underWay: Row = { name: REPLY_UNDER_WAY.name, point: 'killed from outside', hits: 1, reports: [] }
    rows.push(underWay)
    jobs.push({ row: underWay, crash: { scenario: REPLY_UNDER_WAY, killOnCreate: true } })
  }

  console.log(
    `${lab.points.length} awaits, ${passed.size} passed by ${scenarios.length} scenarios; ${jobs.length} cases\n`,
  )
  let done = 0
  await runInLanes(jobs, Number(options.lanes), async ({ row, crash }) => {
    const report = await runCase(lab, crash)
    row.reports.push(report)
    done++
    if (done % 50 === 0) console.log(`… ${done} of ${jobs.length}`)
    if (report.violations.length === 0) return
    const where = crash.kill ? `${crash.kill.moment} ${crash.kill.point}, hit ${crash.kill.hit}` : row.point
    console.log(`VIOLATION in "${row.name}", killed ${where}: ${report.violations.join('; ')}`)
    if (options.verbose) console.log(report.said)
  })
} finally {
  await lab.close()
}

const table = rows.map(({ name, point, hits, reports }) => ({
  scenario: name,
  point,
  hits: String(hits),
  deaths: String(reports.filter(({ died }) => died).length),
  outcome: tally(reports.map(({ outcome }) => outcome)),
  creates: tally(reports.map(({ creates }) => String(creates))),
  messages: tally(reports.map(({ messages }) => String(messages))),
}))
if (table.length > 0) printTable(table)

const never = lab.points.filter(({ id }) => !passed.has(id))
console.log(`\nNot passed by any scenario (${never.length}):`)
for (const [why = UNEXPLAINED, points] of Map.groupBy(never, whyUnreached)) {
  console.log(`\n  ${why} (${points.length})`)
  for (const { id, text } of points) console.log(`    ${id.padEnd(44)}${text.slice(0, 90)}`)
}
// One scenario alone passes few, and that explains the rest.
const unexplained = options.scenario ? 0 : never.filter((point) => !whyUnreached(point)).length

const stale = findStale(lab.files, lab.points)
if (stale.length > 0) console.log(`\nNames that match nothing any more:\n\n  ${stale.join('\n  ')}`)

const reports = rows.flatMap((row) => row.reports)
const count = (holds: (report: CaseReport) => boolean) => reports.filter(holds).length
const figures = {
  points: passed.size,
  cases: reports.length,
  deaths: count(({ died }) => died),
  completed: count(({ outcome }) => outcome === 'completed'),
  submitUnknown: count(({ outcome }) => outcome === 'SUBMIT_UNKNOWN'),
  awaits: lab.points.length,
  unexplained,
  stale: stale.length,
  mostCreates: Math.max(0, ...reports.map(({ creates }) => creates)),
  violations: reports.reduce((sum, { violations }) => sum + violations.length, 0),
  seconds: Math.round((performance.now() - began) / 1000),
}
console.log(`\n${JSON.stringify(figures)}`)
process.exitCode = figures.violations + unexplained + stale.length === 0 ? 0 : 1

/** `completed ×5, SUBMIT_UNKNOWN ×1`; alone without a number. */
function tally(values: string[]): string {
  const counts = [...Map.groupBy(values, (value) => value)]
  return counts.map(([value, all]) => (counts.length === 1 ? value : `${value} ×${all.length}`)).join(', ')
}

function printTable(lines: Record<string, string>[]): void {
  const names = Object.keys(lines[0] ?? {})
  const widths = names.map((name) => Math.max(name.length, ...lines.map((line) => line[name]?.length ?? 0)))
  const print = (cells: string[]) =>
    console.log(
      cells
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  console.log()
  print(names)
  print(widths.map((width) => '-'.repeat(width)))
  for (const line of lines) print(names.map((name) => line[name] ?? ''))
}
