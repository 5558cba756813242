/** How many round trips to PostgreSQL one generation waits for, step by step, and what 10 ms more for each of them cost. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openCallers } from './lifecycle/callers.ts'
import { openDatabases } from './lifecycle/databases.ts'
import { learnDurations } from './lifecycle/learn-durations.ts'
import type { ContenderSettings } from './lifecycle/settings.ts'
import { startContender } from './lifecycle/start-contender.ts'
import { startVendorProcess } from './lifecycle/start-vendor-process.ts'
import { startVendor } from './lifecycle/vendor.ts'
import { startPostgres } from './poll/start-postgres.ts'
import {
  countSequential,
  isBackground,
  readBackground,
  startOfChain,
} from './round-trips/count-sequential.ts'
import { followLives } from './round-trips/follow-life.ts'
import { startPostgresProxy } from './round-trips/start-postgres-proxy.ts'
import { watchStream } from './round-trips/watch-stream.ts'
import { median } from './stream/percentile.ts'

const HELP = `npm run bench -- round-trips [options]

One generation at a time, through a proxy between Holdfast and PostgreSQL that counts sequential round trips: those that
go side by side count as one, and looks for work that find none do not count. \`poll\` is the one that finds it done. Then the same with every answer of
PostgreSQL 10 ms later and the user's stream open: how long a create takes, and how long from the vendor's final answer
to the event at the client. Medians over all generations.

  --quick          few generations, to see that it works
  --lives N        how many, in each part (15)`

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    lives: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
const lives = Number(options.lives ?? (options.quick ? 3 : 15))
if (options.help || !(lives >= 1)) {
  console.log(HELP)
  process.exit(options.help ? 0 : 2)
}

const STEPS = ['create', 'mark', 'accept', 'poll', 'settle', 'stored'] as const
type Step = (typeof STEPS)[number]
const DELAY_MS = 10
const WARM_UP = 60
const WARM_UP_CALLERS = 10
const IDLE_MS = 3_000
/** What follows an accepted create is over by then, and the first poll is not due yet. */
const ACCEPTED_WITHIN_MS = 700
/** What follows a fetched file is over by then. */
const STORED_WITHIN_MS = 700
const USER = 1

const undo: (() => Promise<unknown>)[] = []
let stopped: Promise<void> | undefined
/** Once: what a signal began, the end of the run waits for. */
function stopAll(): Promise<void> {
  stopped ??= (async () => {
    for (const step of undo.reverse()) await step()
  })()
  return stopped
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stopAll().finally(() => process.exit(130)))
}

const counts = Object.fromEntries(STEPS.map((step) => [step, []])) as unknown as Record<Step, number[]>
const createMs: number[] = []
const createMsAt10: number[] = []
const finishMsAt10: number[] = []
try {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-round-trips-'))
  undo.push(() => rm(folder, { recursive: true, force: true }))
  const postgres = await startPostgres()
  undo.push(postgres.stop)
  const databases = openDatabases(postgres)
  undo.push(databases.close)
  const databaseUrl = await databases.fresh('life')
  const settings: ContenderSettings = {
    databaseUrl,
    vendorUrl: '',
    folder: join(folder, 'files'),
    redisPort: 0,
    root: fileURLToPath(new URL('..', import.meta.url)),
    learning: false,
    extra: null,
  }
  const teacher = await startVendorProcess()
  undo.push(teacher.stop)
  await learnDurations('now', { ...settings, vendorUrl: teacher.url }, teacher)
  console.error('Holdfast has learned how long a generation takes')

  const { events, follow } = followLives()
  const vendor = await startVendor(events)
  undo.push(vendor.stop)
  const proxy = await startPostgresProxy(databaseUrl)
  undo.push(proxy.stop)
  const server = await startContender('now', {
    ...settings,
    databaseUrl: proxy.through(databaseUrl),
    vendorUrl: vendor.url,
  })
  undo.push(server.kill)
  const callers = await openCallers(server.url)
  undo.push(callers.close)

  // Every connection has prepared every statement afterwards.
  const { submitted } = await callers.closedLoop({ tasks: WARM_UP, callers: WARM_UP_CALLERS })
  await Promise.all(submitted.map(({ prompt }) => follow(prompt)))
  await sleep(STORED_WITHIN_MS)
  proxy.trips.length = 0
  await sleep(IDLE_MS)
  const background = readBackground(proxy.trips)
  console.error(`${(proxy.trips.length / (IDLE_MS / 1_000)).toFixed(1)} round trips a second while idle`)

  for (let life = 0; life < lives; life += 1) {
    proxy.trips.length = 0
    const submittedAt = performance.now()
    const { prompt } = await callers.submit(USER)
    const answeredAt = performance.now()
    createMs.push(answeredAt - submittedAt)
    const { createdAt, doneAt, fetchedAt } = await follow(prompt)
    await sleep(STORED_WITHIN_MS)
    const trips = proxy.trips.filter((trip) => !isBackground(trip, background))
    const acceptedBy = createdAt + ACCEPTED_WITHIN_MS
    const windows: Record<Step, [from: number, to: number]> = {
      create: [submittedAt, answeredAt],
      mark: [answeredAt, createdAt],
      accept: [Math.max(createdAt, answeredAt), acceptedBy],
      poll: [Math.max(acceptedBy, startOfChain(trips, doneAt)), doneAt],
      settle: [doneAt, fetchedAt],
      stored: [fetchedAt, fetchedAt + STORED_WITHIN_MS],
    }
    for (const step of STEPS) counts[step].push(countSequential(trips, ...windows[step]))
  }

  proxy.delayMs = DELAY_MS
  const stream = await watchStream(server.url, callers.token(USER))
  undo.push(async () => stream.close())
  for (let life = 0; life < lives; life += 1) {
    const submittedAt = performance.now()
    const { prompt, id } = await callers.submit(USER)
    createMsAt10.push(performance.now() - submittedAt)
    const shownAt = await stream.completedAt(id)
    const { doneAt } = await follow(prompt)
    finishMsAt10.push(shownAt - doneAt)
    await sleep(STORED_WITHIN_MS)
  }
} finally {
  await stopAll()
}

const total = STEPS.reduce((sum, step) => sum + median(counts[step]), 0)
const summary = {
  roundTrips: total,
  createP50MsAt10: Number(median(createMsAt10).toFixed(1)),
  finishToStreamP50MsAt10: Number(median(finishMsAt10).toFixed(1)),
}
console.log(`\nOne generation alone, ${lives} times           round trips  from–to`)
for (const step of STEPS) {
  const range = `${Math.min(...counts[step])}–${Math.max(...counts[step])}`
  console.log(`${step.padEnd(40)} ${String(median(counts[step])).padStart(12)}  ${range.padStart(7)}`)
}
console.log(`${'in all'.padEnd(40)} ${String(total).padStart(12)}

create, p50                                ${median(createMs).toFixed(1)} ms; with 10 ms a round trip ${summary.createP50MsAt10} ms
finish → stream, p50, 10 ms a round trip   ${summary.finishToStreamP50MsAt10} ms
`)
const shortfalls = [
  ...(summary.roundTrips <= 10 ? [] : [`${summary.roundTrips} round trips, wanted at most 10`]),
  ...(summary.createP50MsAt10 <= 45
    ? []
    : [`a create takes ${summary.createP50MsAt10} ms, wanted at most 45`]),
  ...(summary.finishToStreamP50MsAt10 <= 60
    ? []
    : [`finish → stream takes ${summary.finishToStreamP50MsAt10} ms, wanted at most 60`]),
]
for (const shortfall of shortfalls) console.log(`Not met: ${shortfall}`)
console.log(JSON.stringify(summary))
process.exitCode = shortfalls.length > 0 && !options.quick ? 1 : 0
