/** Results whose links die within seconds while the store is slow: how many are saved, by two orders. */
import { parseArgs } from 'node:util'
import { migrateDatabase } from './mirror/migrate-database.ts'
import { startPostgres } from './poll/start-postgres.ts'
import { runRescue } from './rescue/run-rescue.ts'
import { seededRandom } from './schedule/seeded-random.ts'

const HELP = `npm run bench -- rescue [options]

200 results come at once. Their links die at times drawn by lot between 1 and 14 s, in no relation to the order in which
they came; the store takes 200 ms for each and four go at a time, so that all of them take 10 s at best. Once with the
claim as it is, whose source dies first goes first; once with the times of death kept from it, so that it takes them in
the order of their coming. Everything else is the same.

  --rounds N   (3)
  --seed N     (20261116)`

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seed: { type: 'string', default: '20261116' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}

const FILES = 200
const random = seededRandom(Number(options.seed))
const postgres = await startPostgres()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void postgres.stop().finally(() => process.exit(130)))
}
const saved = { earliestDeadline: [] as number[], firstCome: [] as number[] }
try {
  for (let round = 0; round < Number(options.rounds); round++) {
    const lifetimesMs = Array.from({ length: FILES }, () => 1_000 + random() * 13_000)
    for (const order of ['earliestDeadline', 'firstCome'] as const) {
      const databaseUrl = await postgres.databaseUrl(`rescue_${round}_${order.toLowerCase()}`)
      await migrateDatabase(databaseUrl)
      const knowsExpiry = order === 'earliestDeadline'
      const stored = await runRescue({ databaseUrl, lifetimesMs, concurrency: 4, putMs: 200, knowsExpiry })
      saved[order].push(stored)
      console.log(`round ${round + 1}: ${order.padEnd(17)} ${stored} of ${FILES} saved`)
    }
  }
} finally {
  await postgres.stop()
}
const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0)
const figures = {
  files: FILES * saved.firstCome.length,
  earliestDeadline: sum(saved.earliestDeadline),
  firstCome: sum(saved.firstCome),
}
console.log(JSON.stringify(figures))
process.exitCode = figures.earliestDeadline > figures.firstCome ? 0 : 1
