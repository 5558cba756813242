/** 5,000 watched tasks with new progress at every poll: rows written, and whether every stream shows every step. */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import postgres from 'postgres'
import { migrate } from '../packages/server/src/database/migrate.ts'
import type { EngineCount, ProgressSettings, WatchCount, WatchOrder } from './progress/progress-messages.ts'
import { startScalePostgres } from './scale/start-scale-postgres.ts'
import { startChild } from './stream/child.ts'

const HELP = `npm run bench -- progress [options]

The server with its engine in one process, 500 streams of 500 users with ten tasks each in another, PostgreSQL. The
provider reports one per cent more at every poll, which is every two seconds, since somebody watches. Rows are counted
by PostgreSQL itself.

  --quick          200 tasks and a short window, to see that it works
  --tasks N        (5000)
  --seconds N      how long to count (40)`

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    tasks: { type: 'string' },
    seconds: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const TASKS_PER_USER = 10
const users = Math.max(1, Math.round(Number(options.tasks ?? (options.quick ? 200 : 5_000)) / TASKS_PER_USER))
const tasks = users * TASKS_PER_USER
const seconds = Number(options.seconds ?? (options.quick ? 12 : 40))

const server = await startScalePostgres()
const sql = postgres(server.url, { max: 1, onnotice: () => {} })
const stops: (() => Promise<unknown>)[] = [() => server.stop(), () => sql.end({ timeout: 5 })]
async function stopAll(): Promise<void> {
  for (const stop of stops.reverse()) await stop()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stopAll().finally(() => process.exit(130)))
}

/** Of `holdfast.tasks`, by PostgreSQL's own account. */
async function rowsWritten(): Promise<number> {
  await sql`select pg_stat_clear_snapshot()`
  const [row] = await sql<{ updates: string }[]>`
    select n_tup_upd::text as updates from pg_stat_user_tables where relid = 'holdfast.tasks'::regclass
  `
  return Number(row?.updates)
}

interface Counts {
  atMs: number
  rows: number
  engine: Extract<EngineCount, { kind: 'count' }>
  watch: Extract<WatchCount, { kind: 'count' }>
}
const counts: Counts[] = []
try {
  await migrate(sql, { log: () => {} })
  const settings: ProgressSettings = {
    databaseUrl: server.url,
    users,
    tasksPerUser: TASKS_PER_USER,
    pollMs: 2_000,
  }
  const engine = await startChild<'start' | 'count', EngineCount>('../progress/engine-process.ts', settings)
  stops.push(engine.stop)
  const watch = await startChild<WatchOrder, WatchCount>('../progress/watch-process.ts', {})
  stops.push(watch.stop)
  const port = engine.ready.kind === 'ready' ? engine.ready.port : 0
  await watch.ask({ kind: 'open', port, users }, 'open')
  await engine.ask('start', 'count')
  // Until the first writes, which all come together, are over.
  await sleep(options.quick ? 6_000 : 12_000)
  const read = async () =>
    counts.push({
      rows: await rowsWritten(),
      engine: await engine.ask('count', 'count'),
      watch: await watch.ask({ kind: 'count' }, 'count'),
      atMs: performance.now(),
    })
  await read()
  await sleep(seconds * 1_000)
  await read()
} finally {
  await stopAll()
}

const [before, after] = counts
if (!before || !after) throw new Error('Nothing was counted.')
const took = (after.atMs - before.atMs) / 1000
const perSecond = (from: number, to: number) => (to - from) / took
const rows = perSecond(before.rows, after.rows)
const reports = perSecond(before.engine.reports, after.engine.reports)
const steps = perSecond(before.watch.steps, after.watch.steps)
const { backwards, skipped, repeated } = after.watch
const summary = {
  tasks,
  reportsPerSecond: Math.round(reports),
  rowsPerSecond: Math.round(rows),
  ofWritingEvery: Number((rows / reports).toFixed(2)),
  backwards,
  skipped,
}
console.log(`
${tasks} watched tasks of ${users} users, ${took.toFixed(0)} s

reports of the provider a second     ${reports.toFixed(0)}
steps shown by the streams a second  ${steps.toFixed(0)}   (went back: ${backwards}, passed over: ${skipped}, shown twice: ${repeated})
task rows written a second           ${rows.toFixed(0)}   (wanted: at most ${tasks / 5}; writing every report: ${reports.toFixed(0)})
`)
const shortfalls = [
  ...(rows > tasks / 5
    ? [`${rows.toFixed(0)} rows a second were written; wanted are at most ${tasks / 5}.`]
    : []),
  ...(backwards > 0 ? [`progress went back ${backwards} times.`] : []),
]
for (const shortfall of shortfalls) console.log(`Not met: ${shortfall}`)
console.log(JSON.stringify(summary))
process.exitCode = shortfalls.length > 0 ? 1 : 0
