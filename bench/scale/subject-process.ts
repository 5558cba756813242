/**
 * Holdfast as `createHoldfast` makes it, with the adapter for KIE, in a process of its own, so that its memory is its
 * own too. Says `ready` when it polls by the run's interval, and reports windows from the moment it is told.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createHoldfast } from '../../packages/server/src/create-holdfast.ts'
import { connect, type Sql } from '../../packages/server/src/database/connect.ts'
import { createLog } from '../../packages/server/src/log.ts'
import { createKie } from '../../packages/server/src/providers/kie/kie.ts'
import type { SubjectMessage, SubjectSettings } from './scale-run.ts'
import { watchClaims } from './watch-claims.ts'
import { createWindowMeter, type WindowMeter } from './window-meter.ts'

const SAMPLE_EVERY_MS = 500

const { run, databaseUrl, providerUrl } = JSON.parse(process.argv[2] ?? '') as SubjectSettings
const send = (message: SubjectMessage) => process.send?.(message)
const sql = connect(databaseUrl)
const dueTimes = new Map<string, number>()
let meters: WindowMeter[] = []

const watched = watchClaims(sql, (rows, askedAt, tookMs) => {
  for (const meter of meters) {
    if (rows.length > 0) meter.claimTook(tookMs)
    // The database looked at its clock after it was asked, so this errs on the late side.
    for (const { lagMs } of rows) meter.claimed(lagMs + tookMs)
  }
  for (const { externalId, lagMs } of rows) dueTimes.set(externalId, askedAt - lagMs)
})

const kie = createKie({
  apiKey: 'bench-key',
  baseUrl: providerUrl,
  models: { image: 'google/nano-banana' },
  limits: {
    query: { perSecond: 5_000, burst: 1_000, inFlight: 1_000 },
    // Ten seconds, or what the interval leaves: no task is claimed again while it may still be asked about.
    callTimeoutMs: Math.min(10_000, run.intervalMs * 0.6),
  },
})
const holdfast = createHoldfast({
  database: watched,
  auth: async () => ({ userId: 'nobody', expiresAt: null }),
  providers: [
    {
      ...kie,
      async query(externalId, signal) {
        const outcome = await kie.query(externalId, signal)
        const dueAt = dueTimes.get(externalId)
        dueTimes.delete(externalId)
        if (dueAt !== undefined) {
          for (const meter of meters) meter.answered(outcome.kind, performance.now() - dueAt)
        }
        return outcome
      },
    },
  ],
  engine: { leaseMarginMs: Math.min(5_000, run.intervalMs * 0.2) },
  log: createLog('warn', { write: (line) => void process.stderr.write(line) }),
})

/**
 * Engines plan at their start and whenever a task has finished. Here none does, so once the first plan is there (there
 * was none before), this one stays.
 */
async function putPlan(db: Sql): Promise<void> {
  for (;;) {
    const written = await db`
      update holdfast.poll_plans
      set ages_ms = '{0}', intervals_ms = array[${run.intervalMs}::float8], jitter_from = -0.05, jitter_to = 0.05
      where provider = 'kie' and type = 'image' and cardinality(ages_ms) > 0
    `
    if (written.count > 0) return
    await sleep(20)
  }
}

async function report(startsAt: number): Promise<void> {
  await sleep(startsAt - Date.now())
  const total = createWindowMeter()
  const sampling = setInterval(() => {
    for (const meter of meters) meter.sampleMemory()
  }, SAMPLE_EVERY_MS)
  for (let index = 0; index < run.windows; index += 1) {
    const window = createWindowMeter()
    meters = [total, window]
    await sleep(startsAt + (index + 1) * run.windowMs - Date.now())
    send({ kind: 'window', window: window.read() })
  }
  clearInterval(sampling)
  await addBacklog(sql, total)
  meters = []
  send({ kind: 'total', total: total.read() })
}

/** What is due and not yet claimed at the end counts as well, or a poller that stands still would look fine. */
async function addBacklog(db: Sql, total: WindowMeter): Promise<void> {
  const waiting = await db<{ lagMs: number }[]>`
    select (extract(epoch from now() - due_at) * 1000)::float8 as "lagMs"
    from holdfast.work where kind = 'poll' and due_at <= now()
  `
  for (const { lagMs } of waiting) total.claimed(lagMs)
}

async function stop(): Promise<void> {
  await holdfast.stop()
  await sql.end({ timeout: 5 })
  process.exit(0)
}

process.on('message', (message: { startsAt: number } | 'stop') => {
  void (message === 'stop' ? stop() : report(message.startsAt))
})
// The benchmark is gone, however it ended.
process.on('disconnect', () => process.exit(0))

await holdfast.start()
await putPlan(sql)
send({ kind: 'ready' })
