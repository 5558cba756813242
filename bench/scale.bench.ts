/** Whether polls stay on time, and memory and tables small, with 200,000 and 1,000,000 active tasks. */
import { writeFile } from 'node:fs/promises'
import { cpus, loadavg, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import postgres from 'postgres'
import { migrate } from '../packages/server/src/database/migrate.ts'
import { startProvider } from './poll/start-provider.ts'
import { drawPlot } from './scale/draw-plot.ts'
import { drawGrowth, drawRun } from './scale/draw-tables.ts'
import { runScale, type ScaleReport } from './scale/run-scale.ts'
import type { ScaleRun } from './scale/scale-run.ts'
import { startScalePostgres } from './scale/start-scale-postgres.ts'
import { findBloatShortfalls, findGrowthShortfalls, findLagShortfalls, summarise } from './scale/summarise.ts'

const HELP = `npm run bench -- scale [options]

Real PostgreSQL, the engine with the adapter for KIE in a process of its own, a provider on loopback in another.
200,000 active tasks due every 60 s for four rounds, 1,000,000 due every 300 s for one, both 3,333 polls a second;
and shorter runs with fewer tasks at the same rate for the growth curve. Takes about 14 minutes.

  --quick          small and short, to see that it works; only the due lag is judged
  --plot FILE      writes the growth curve there, as SVG
  --only A,B       only these runs, by name; no verdict`

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    plot: { type: 'string' },
    only: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}

const POLLS_PER_SECOND = 200_000 / 60
/** KIE's adapter asks about no task more often, so that fewer than 10,000 tasks cannot make up the rate. */
const SHORTEST_INTERVAL_MS = 3_000

const rounds: ScaleRun = options.quick
  ? { name: 'rounds', tasks: 20_000, intervalMs: 20_000, windowMs: 10_000, windows: 4 }
  : { name: 'rounds', tasks: 200_000, intervalMs: 60_000, windowMs: 60_000, windows: 4 }
const million: ScaleRun = options.quick
  ? { name: 'million', tasks: 50_000, intervalMs: 50_000, windowMs: 2_500, windows: 4 }
  : { name: 'million', tasks: 1_000_000, intervalMs: 300_000, windowMs: 75_000, windows: 4 }
const growth: ScaleRun[] = (options.quick ? [1_000] : [1_000, 10_000, 100_000, 500_000]).map((tasks) => ({
  name: `growth-${tasks}`,
  tasks,
  intervalMs: Math.max(SHORTEST_INTERVAL_MS, (tasks / POLLS_PER_SECOND) * 1_000),
  windowMs: options.quick ? 3_000 : 10_000,
  windows: 3,
}))

const only = options.only?.split(',')
const provider = await startProvider()
const server = await startScalePostgres()
async function stopAll(): Promise<void> {
  await server.stop()
  await provider.stop()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stopAll().finally(() => process.exit(130)))
}

const reports = new Map<ScaleRun, ScaleReport>()
try {
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  await migrate(sql, { log: () => {} })
  await sql.end()
  for (const run of [rounds, million, ...growth]) {
    if (only && !only.includes(run.name)) continue
    const load = loadavg()[0]?.toFixed(1)
    const report = await runScale(run, server, provider.url, (line) => console.error(line))
    reports.set(run, report)
    console.log(
      `\n${drawRun(report)}\nLoad of the machine before: ${load}, after: ${loadavg()[0]?.toFixed(1)}`,
    )
  }
} finally {
  await stopAll()
}

const curve = [...reports.values()].toSorted((a, b) => a.run.tasks - b.run.tasks)
console.log(`\n${drawGrowth(curve)}`)
const [cpu] = cpus()
console.log(
  `\n${cpus().length} × ${cpu?.model}, ${Math.round(totalmem() / 2 ** 30)} GB; Node ${process.versions.node}`,
)
if (options.plot) {
  const points = curve.map(({ run, total }) => ({ tasks: run.tasks, ...total }))
  await writeFile(options.plot, drawPlot(points, { limitMs: 1_000 }))
}

function reportOf(run: ScaleRun): ScaleReport {
  const report = reports.get(run)
  if (!report) throw new Error(`The run “${run.name}” has no report.`)
  return report
}

if (!only) {
  const roundsReport = reportOf(rounds)
  const millionReport = reportOf(million)
  const shortfalls = [
    ...findLagShortfalls(roundsReport, 1_000),
    ...findLagShortfalls(millionReport, 2_000),
    ...growth.flatMap((run) => findLagShortfalls(reportOf(run), 1_000)),
    ...(options.quick
      ? []
      : [
          ...findGrowthShortfalls(roundsReport),
          ...findGrowthShortfalls(millionReport),
          ...findBloatShortfalls(roundsReport),
        ]),
  ]
  for (const shortfall of shortfalls) console.log(`Not met: ${shortfall}`)
  console.log(JSON.stringify(summarise(roundsReport, millionReport)))
  process.exitCode = shortfalls.length > 0 ? 1 : 0
}
