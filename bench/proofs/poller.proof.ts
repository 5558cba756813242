/** Three real servers share a limit, lose their holder, their database, their Redis and their provider. */
import { parseArgs } from 'node:util'
import { type Finding, misses } from '../poller/finding.ts'
import { openPollerLab } from '../poller/poller-lab.ts'
import { printFindings } from '../poller/print-findings.ts'
import { FULL, SHORT, scenarios } from '../poller/scenarios.ts'

const HELP = `npm run proof -- poller [options]

  --only TEXT    only scenarios whose name contains TEXT
  --short        the short form, as in the tests
  --verbose      what the servers said in a scenario that went wrong`

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    short: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}

const began = performance.now()
const lab = await openPollerLab()
const findings: Finding[] = []
let broken = 0
try {
  for (const { name, run } of scenarios(options.short ? SHORT : FULL)) {
    if (!name.includes(options.only)) continue
    const startedAt = performance.now()
    let found: Finding[] = []
    try {
      found = await run(lab)
    } catch (error) {
      broken++
      console.log(`BROKEN OFF: ${error instanceof Error ? error.message : String(error)}`)
    }
    findings.push(...found)
    const failed = misses(found).length
    console.log(`\n${name}: ${Math.round((performance.now() - startedAt) / 1000)} s`)
    printFindings(found)
    if (options.verbose && (failed > 0 || found.length === 0)) console.log(lab.said())
  }
} finally {
  await lab.close()
}

const missed = misses(findings)
const figures = {
  findings: findings.length,
  misses: missed.length,
  broken,
  mostInASecond: worst('most in any second'),
  advisoryTakeoverMs: worst('ms from the death to the next request', 'lock advisory'),
  redisTakeoverMs: worst('ms from the death to the next request', 'lock redis'),
  lateWritesRefused: worst('late writes refused, by its own metric'),
  tasksEndedTwice: worst('tasks ended twice'),
  besideFloodP95Ms: worst('ms late, p95'),
  seconds: Math.round((performance.now() - began) / 1000),
}
console.log(`\n${JSON.stringify(figures)}`)
process.exitCode = missed.length === 0 && broken === 0 && findings.length > 0 ? 0 : 1

/** The largest of what was measured under this name; null if nothing was. */
function worst(what: string, about = ''): number | null {
  const values = findings
    .filter((finding) => finding.what.startsWith(what) && finding.about.includes(about))
    .map(({ measured }) => Number(measured))
  return values.length === 0 ? null : Math.max(...values)
}
