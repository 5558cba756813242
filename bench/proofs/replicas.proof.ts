/** Three real servers behind nginx: finishes reach the streams of all, and a killed one's clients come back elsewhere. */
import { parseArgs } from 'node:util'
import { misses } from '../poller/finding.ts'
import { printFindings } from '../poller/print-findings.ts'
import { type BusKind, openReplicasLab } from '../replicas/replicas-lab.ts'
import { type Figures, FULL, runOverBus, SHORT } from '../replicas/run-over-bus.ts'

const HELP = `npm run proof -- replicas [options]

  --only BUS     redis, postgres, or pooled (PostgreSQL behind PgBouncer, with DIRECT_URL); all unless said
  --short        the short form, as in the tests
  --verbose      what the servers said when something went wrong`

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

const BUSES: readonly BusKind[] = ['redis', 'postgres', 'pooled']
const chosen = BUSES.filter((bus) => bus.includes(options.only))
if (chosen.length === 0) {
  console.error(`There is no bus “${options.only}”.\n\n${HELP}`)
  process.exit(1)
}

const lab = await openReplicasLab()
const figures: Partial<Record<BusKind, Figures>> = {}
let failed = 0
try {
  for (const bus of chosen) {
    const began = performance.now()
    try {
      const result = await runOverBus(lab, bus, options.short ? SHORT : FULL)
      figures[bus] = result.figures
      const missed = misses(result.found).length
      failed += missed
      console.log(`\nover ${bus}: ${Math.round((performance.now() - began) / 1000)} s`)
      printFindings(result.found)
      if (options.verbose && missed > 0) console.log(lab.said())
    } catch (error) {
      failed += 1
      console.log(`\nover ${bus}: BROKEN OFF: ${error instanceof Error ? error.message : String(error)}`)
      if (options.verbose) console.log(lab.said())
    }
  }
} finally {
  await lab.close()
}
console.log(`\n${JSON.stringify(figures)}`)
process.exit(failed === 0 ? 0 : 1)
