/** How many tasks a second get polled: Holdfast beside a bare HTTP loop, three job queues and a naive loop. */
import { parseArgs } from 'node:util'
import { runContender } from './poll/run-contender.ts'
import { CONTENDERS, type ContenderName } from './poll/settings.ts'
import { startPostgres } from './poll/start-postgres.ts'
import { startProvider } from './poll/start-provider.ts'
import { startRedis } from './poll/start-redis.ts'
import { drawTable, findShortfalls, type Reports, summarise } from './poll/summarise.ts'

const HELP = `npm run bench -- poll [options]

Every contender polls the same number of tasks over loopback, each task once per pass, and stores when each is due
again; passes are repeated for five seconds at least. A fresh process per contender and round, one at a time, in an
order that moves on by one every round; one pass before to warm up. The figures are medians of five rounds.

  --quick          one short round, to see that it works
  --rounds N       (5)
  --tasks N        (30000)
  --only A,B       only these: ${CONTENDERS.join(', ')}; no verdict
  --profile DIR    writes a CPU profile of every contender's process there`

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    tasks: { type: 'string' },
    only: { type: 'string' },
    profile: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const rounds = Number(options.rounds ?? (options.quick ? 1 : 5))
const tasks = Number(options.tasks ?? (options.quick ? 3_000 : 30_000))
const measureForMs = options.quick ? 1_000 : 5_000
const only = options.only?.split(',')
const chosen = CONTENDERS.filter((name) => !only || only.includes(name))
if (chosen.length === 0 || !(rounds >= 1) || !(tasks >= 1)) {
  console.error(HELP)
  process.exit(2)
}

const reports = Object.fromEntries(CONTENDERS.map((name) => [name, []])) as unknown as Reports
const provider = await startProvider()
const redis = await startRedis()
const postgres = await startPostgres()
async function stopAll(): Promise<void> {
  await postgres.stop()
  await redis.stop()
  await provider.stop()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stopAll().finally(() => process.exit(130)))
}

const databases: Partial<Record<ContenderName, string>> = {
  holdfast: 'bench_holdfast',
  pgBoss: 'bench_pg_boss',
  pgBossBulk: 'bench_pg_boss_bulk',
  graphileWorker: 'bench_graphile_worker',
  naive: 'bench_naive',
}

try {
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < chosen.length; turn++) {
      const contender = chosen[(turn + round) % chosen.length] as ContenderName
      const database = databases[contender]
      const databaseUrl = database ? await postgres.databaseUrl(database) : ''
      await postgres.checkpoint()
      const report = await runContender(
        {
          contender,
          databaseUrl,
          meterUrl: postgres.meterUrl,
          redisPort: redis.port,
          providerUrl: provider.url,
          pids: { provider: provider.pid, postgres: postgres.pid, redis: redis.pid },
          tasks,
          measureForMs,
        },
        options.profile
          ? [
              '--cpu-prof',
              `--cpu-prof-dir=${options.profile}`,
              `--cpu-prof-name=${contender}-${round}.cpuprofile`,
            ]
          : [],
      )
      reports[contender].push(report)
      const speed = Math.round(report.polls / report.seconds)
      console.error(
        `round ${round + 1} of ${rounds}: ${contender} ${speed} polls/s in ${report.seconds.toFixed(1)} s`,
      )
    }
  }
} finally {
  await stopAll()
}

console.log(drawTable(reports))
if (!only) {
  const summary = summarise(reports)
  const shortfalls = findShortfalls(summary, reports)
  for (const shortfall of shortfalls) console.log(`Not met: ${shortfall}`)
  console.log(JSON.stringify(summary))
  process.exitCode = shortfalls.length > 0 ? 1 : 0
}
