/** Twice as many submits as a server can take: it says so to those that are too many, and loses none of the others. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import postgres from 'postgres'
import { openDatabases } from '../lifecycle/databases.ts'
import { learnDurations } from '../lifecycle/learn-durations.ts'
import type { ContenderSettings } from '../lifecycle/settings.ts'
import { startContender } from '../lifecycle/start-contender.ts'
import { startVendorProcess } from '../lifecycle/start-vendor-process.ts'
import { runOverload } from '../overload/run-overload.ts'
import { startPostgres } from '../poll/start-postgres.ts'
import { misses } from '../poller/finding.ts'
import { printFindings } from '../poller/print-findings.ts'
import { percentile } from '../stream/percentile.ts'

const HELP = `npm run proof -- overload [options]

A server and a vendor in processes of their own, and PostgreSQL with its default durability. First a closed loop finds out
how many submits a second the server can take while it does all its other work. Then twice as many are offered in an open
loop, 60,000 at most. Every one is made, or refused with 503 and Retry-After; every one that was made is completed in the
end. All that is done twice, first for 3 s: the second time the server's memory stays as it was. Takes one to two
minutes on two cores, and about four at most.

  --seconds N    how long to offer too much, up to 20 (10)
  --verbose      what the server said`

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const seconds = Number(options.seconds)
if (!(seconds >= 1 && seconds <= 20)) {
  console.error(HELP)
  process.exit(2)
}

const began = performance.now()
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

try {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-overload-'))
  undo.push(() => rm(folder, { recursive: true, force: true }))
  const vendor = await startVendorProcess()
  undo.push(vendor.stop)
  const database = await startPostgres()
  undo.push(database.stop)
  const databases = openDatabases(database)
  undo.push(databases.close)
  const settings: ContenderSettings = {
    databaseUrl: await databases.fresh('overload'),
    vendorUrl: vendor.url,
    folder: join(folder, 'files'),
    redisPort: 0,
    root: fileURLToPath(new URL('../..', import.meta.url)),
    learning: false,
    extra: null,
    // What is to refuse is the server that has too much to do, not the limits of its users.
    uncapped: true,
  }
  await learnDurations('now', settings, vendor)
  const server = await startContender('now', settings)
  undo.push(server.stop)
  const sql = postgres(settings.databaseUrl, { max: 2, onnotice: () => {} })
  undo.push(() => sql.end({ timeout: 5 }))

  const { found, figures, made } = await runOverload(server, sql, { seconds, endsWithinMs: 60_000 })
  printFindings(found)
  const [half, most] = [0.5, 0.99].map((part) => (percentile(made.ms, part) / 1_000).toFixed(1))
  console.log(`\nHalf of those made were answered within ${half} s, 99 of 100 within ${most} s.`)
  if (options.verbose) console.log(server.said())
  if (misses(found).length > 0) process.exitCode = 1
  const tookSeconds = Math.round((performance.now() - began) / 1_000)
  console.log(`\n${JSON.stringify({ ...figures, seconds: tookSeconds })}`)
} finally {
  await stopAll()
}
