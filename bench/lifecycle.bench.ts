/** What a whole generation costs, submitted → done → file stored: Holdfast beside the release before, two job queues and the limit. */
import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, loadavg, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Before, checkOutBefore } from './lifecycle/check-out-before.ts'
import { openDatabases } from './lifecycle/databases.ts'
import { learnDurations } from './lifecycle/learn-durations.ts'
import { measureIdle } from './lifecycle/measure-idle.ts'
import { type LifeReport, type Machinery, runLife } from './lifecycle/run-life.ts'
import {
  BEFORE_COMMIT,
  CONTENDERS,
  type ContenderName,
  type ContenderSettings,
  EXTRAS,
  type Extra,
  USERS,
} from './lifecycle/settings.ts'
import { startVendorProcess } from './lifecycle/start-vendor-process.ts'
import { drawExtras, drawLives, findShortfalls, type LifeReports, summarise } from './lifecycle/summarise.ts'
import { startPostgres } from './poll/start-postgres.ts'
import { startRedis } from './poll/start-redis.ts'

const HELP = `npm run bench -- lifecycle [options]

10,000 generations of ${USERS} users, one file each, submitted by 64 callers in a closed loop; measured from the first
submit until every file is stored. Real PostgreSQL with its default durability, a vendor on loopback that takes about
2 s, Holdfast with its defaults and durations learned before. A fresh process, database and folder for each contender
and round, one at a time, in an order that moves on by one every round. The figures are medians of three rounds.

- now       this tree
- before    commit ${BEFORE_COMMIT}, in a work tree of its own that is removed again
- pg-boss   the same life by hand on pg-boss
- bullmq    the same life by hand on BullMQ, with PostgreSQL as the truth
- bare      three tables and every statement for many tasks: the limit of this machine

CPU is the contender's process plus PostgreSQL (and Redis), for each generation. The contenders' answers to one caller,
and to 300 submits a second in an open loop, are measured after the last round. Takes about 12 minutes on two cores.

  --quick          1,000 generations and one round, to see that it works
  --rounds N       (3)
  --only A,B       only these: ${CONTENDERS.join(', ')}; no verdict
  --no-extras      without the table of what credits, a conversation and onSettled cost`

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    only: { type: 'string' },
    'no-extras': { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const rounds = Number(options.rounds ?? (options.quick ? 1 : 3))
const only = options.only?.split(',')
const unknown = only?.filter((name) => !CONTENDERS.some((known) => known === name)) ?? []
if (unknown.length > 0 || !(rounds >= 1)) {
  console.error(HELP)
  process.exit(2)
}
const tasks = options.quick ? 1_000 : 10_000
const tasksOfExtras = options.quick ? 300 : 2_000
const warmUp = options.quick ? 200 : 300
const answers = options.quick
  ? { alone: 100, perSecond: 300, seconds: 3 }
  : { alone: 200, perSecond: 300, seconds: 10 }
const idleForMs = options.quick ? 10_000 : 25_000

const here = fileURLToPath(new URL('..', import.meta.url))
const say = (line: string) => console.error(line)
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

const reports = Object.fromEntries(CONTENDERS.map((name) => [name, []])) as unknown as LifeReports
const extras = new Map<string, LifeReport>()
let idle = Number.NaN
try {
  const chosen = new Set<ContenderName>(CONTENDERS.filter((name) => !only || only.includes(name)))
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-lifecycle-'))
  undo.push(() => rm(folder, { recursive: true, force: true }))
  let before: Before | null = null
  if (chosen.has('before')) {
    before = await checkOutBefore(here, say)
    if (before) undo.push(before.remove)
    else chosen.delete('before')
  }
  const vendor = await startVendorProcess()
  undo.push(vendor.stop)
  const redis = chosen.has('bullmq') ? await startRedis() : null
  if (redis) undo.push(redis.stop)
  const postgres = await startPostgres()
  undo.push(postgres.stop)
  const databases = openDatabases(postgres)
  undo.push(databases.close)
  const machinery: Machinery = { postgres, vendor, redis }

  let runs = 0
  function settingsOf(
    name: ContenderName,
    databaseUrl: string,
    extra: Extra | null = null,
  ): ContenderSettings {
    runs += 1
    return {
      databaseUrl,
      vendorUrl: vendor.url,
      // Never one in which files were deleted: new files are slow there on ext4.
      folder: join(folder, `${name}-${runs}`),
      redisPort: redis?.port ?? 0,
      root: name === 'before' ? (before?.root ?? '') : here,
      learning: false,
      extra,
    }
  }

  const learned = new Map<ContenderName, string>()
  for (const name of ['now', 'before'] as const) {
    if (!chosen.has(name)) continue
    const template = `learned_by_${name}`
    await learnDurations(name, settingsOf(name, await databases.fresh(template)), vendor)
    learned.set(name, template)
    say(`${name} has learned how long a generation takes`)
  }

  const order = [...chosen]
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < order.length; turn += 1) {
      const contender = order[(turn + round) % order.length] as ContenderName
      const databaseUrl = await databases.fresh('life', learned.get(contender))
      const report = await runLife(machinery, {
        contender,
        settings: settingsOf(contender, databaseUrl),
        tasks,
        warmUp,
        answers: round === rounds - 1 ? answers : null,
      })
      reports[contender].push(report)
      const rate = Math.round(report.tasks / report.seconds)
      say(
        `round ${round + 1} of ${rounds}: ${contender} ${rate} a second (load of the machine ${loadavg()[0]?.toFixed(1)})`,
      )
    }
  }

  if (chosen.has('now')) {
    for (const extra of options['no-extras'] ? [] : [null, ...EXTRAS]) {
      const databaseUrl = await databases.fresh('life', learned.get('now'))
      const settings = settingsOf('now', databaseUrl, extra)
      const name = extra ?? 'plain'
      extras.set(
        name,
        await runLife(machinery, { contender: 'now', settings, tasks: tasksOfExtras, warmUp, answers: null }),
      )
      say(`${name} done`)
    }
    const databaseUrl = await databases.fresh('idle')
    idle = await measureIdle({ databaseUrl, meterUrl: postgres.meterUrl, folder, forMs: idleForMs })
  }
} finally {
  await stopAll()
}

console.log(`\n${drawLives(reports)}`)
if (extras.size > 0) {
  console.log(`\nWhat more costs, ${tasksOfExtras} generations each:\n${drawExtras(extras)}`)
}
if (Number.isFinite(idle)) {
  console.log(
    `\nholdfast serve with seven providers and nothing to do: ${idle.toFixed(1)} statements a second`,
  )
}
const [cpu] = cpus()
console.log(
  `\n${cpus().length} × ${cpu?.model}, ${Math.round(totalmem() / 2 ** 30)} GB; Node ${process.versions.node}\n`,
)
const summary = summarise(reports, idle)
if (!only && !options.quick) {
  const shortfalls = findShortfalls(summary)
  for (const shortfall of shortfalls) console.log(`Not met: ${shortfall}`)
  process.exitCode = shortfalls.length > 0 ? 1 : 0
}
console.log(JSON.stringify(summary))
