/** 10,000 open streams on one process: memory each, time from an end to its last client, messages a second beside a bare loop. */
import { parseArgs } from 'node:util'
import postgres from 'postgres'
import { migrate } from '../packages/server/src/database/migrate.ts'
import { startScalePostgres } from './scale/start-scale-postgres.ts'
import { openStreamLab } from './stream/measure-streams.ts'
import { median, percentile } from './stream/percentile.ts'

const HELP = `npm run bench -- stream [options]

One Holdfast (routes, feeds, PostgreSQL) and one bare loop of Hono's streamSSE, each in a process of its own with the
same number of streams open, and clients on plain sockets in two more processes, all over loopback.

- memory: of the server's process with every stream of another user, each with a running task, garbage collected
- fan-out: from the commit of an end until the last of the user's streams has it
- saturated: progress for all users in turn, as fast as it goes; bare and Holdfast in turns, medians

  --quick          few streams and short rounds, to see that it works
  --streams N      (10000)
  --fan-out N      streams per user, for the last two (10)
  --rounds N       (5)`

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    streams: { type: 'string' },
    'fan-out': { type: 'string' },
    rounds: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const streams = Number(options.streams ?? (options.quick ? 500 : 10_000))
const fanOut = Number(options['fan-out'] ?? 10)
const rounds = Number(options.rounds ?? (options.quick ? 2 : 5))
const forMs = options.quick ? 1_000 : 4_000
const users = Math.max(1, Math.floor(streams / fanOut))
const settles = Math.min(users, options.quick ? 20 : 400)

const database = await startScalePostgres()
const lab = await openStreamLab()
async function stopAll(): Promise<void> {
  await lab.stop()
  await database.stop()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stopAll().finally(() => process.exit(130)))
}

const of = { bare: [] as number[], holdfast: [] as number[] }
const cpu = { bare: [] as number[], holdfast: [] as number[] }
let lags: number[] = []
let alone = { perSecond: 0, bytesPerStream: 0 }
let shared = { perSecond: 0, bytesPerStream: 0 }
let bareMemory = 0
try {
  const sql = postgres(database.url, { max: 1, onnotice: () => {} })
  await migrate(sql, { log: () => {} })
  await sql.end()

  const single = { databaseUrl: database.url, users: streams, streamsPerUser: 1 }
  const first = await lab.start('holdfast', single)
  alone = await lab.open(first, single)
  console.error(`${streams} users with a stream each: ${Math.round(alone.bytesPerStream / 1024)} kB a stream`)
  await lab.close(first)

  const several = { databaseUrl: database.url, users, streamsPerUser: fanOut }
  const holdfast = await lab.start('holdfast', several)
  const bare = await lab.start('bare', several)
  shared = await lab.open(holdfast, several)
  bareMemory = (await lab.open(bare, several)).bytesPerStream
  // Once each to warm up.
  for (const server of [bare, holdfast]) await lab.saturate(server, forMs / 2)
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 ? [holdfast, bare] : [bare, holdfast]
    for (const server of order) {
      const name = server === bare ? 'bare' : 'holdfast'
      const { perSecond, cpuMicros } = await lab.saturate(server, forMs)
      of[name].push(perSecond)
      cpu[name].push(cpuMicros)
      console.error(`round ${round + 1} of ${rounds}: ${name} ${Math.round(perSecond)} messages/s`)
    }
  }
  lags = await lab.settle(holdfast, { count: settles, perSecond: 20, fanOut })
} finally {
  await stopAll()
}

const ratios = of.holdfast.map((perSecond, round) => perSecond / (of.bare[round] ?? 1))
const summary = {
  ofBareSse: Number(median(ratios).toFixed(2)),
  bytesPerStream: Math.round(alone.bytesPerStream),
  p50Ms: Number(percentile(lags, 0.5).toFixed(1)),
  p99Ms: Number(percentile(lags, 0.99).toFixed(1)),
}
const kB = (bytes: number) => `${(bytes / 1024).toFixed(1)} kB`
console.log(`
${streams} streams open at a time, ${users} users with ${fanOut} each (memory: ${streams} users with one each)

                          Holdfast      bare streamSSE
messages a second         ${Math.round(median(of.holdfast)).toString().padEnd(13)} ${Math.round(median(of.bare))}
CPU of the server each    ${median(cpu.holdfast).toFixed(1)} µs       ${median(cpu.bare).toFixed(1)} µs
memory a stream           ${kB(alone.bytesPerStream).padEnd(13)} ${kB(bareMemory)}   (Holdfast with ${fanOut} of one user: ${kB(shared.bytesPerStream)})
opened a second           ${Math.round(alone.perSecond)}
an end, to ${fanOut} streams     p50 ${summary.p50Ms} ms, p99 ${summary.p99Ms} ms over ${lags.length} ends, 20 a second
`)
const isMet = summary.ofBareSse >= 0.7
if (!isMet) console.log(`Not met: ${summary.ofBareSse} of the bare loop; wanted are 0.7.`)
console.log(JSON.stringify(summary))
process.exitCode = isMet ? 0 : 1
