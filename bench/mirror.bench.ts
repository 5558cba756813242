/** How fast results are copied to a store: Holdfast beside a bare pipe, one large file and many small ones. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { migrateDatabase } from './mirror/migrate-database.ts'
import { runContender } from './mirror/run-contender.ts'
import { CONTENDERS, type ContenderReport, type ContenderSettings } from './mirror/settings.ts'
import { startS3 } from './mirror/start-s3.ts'
import { startSource } from './mirror/start-source.ts'
import { drawTable, findShortfalls, type Measured, summarise } from './mirror/summarise.ts'
import { startPostgres } from './poll/start-postgres.ts'

const HELP = `npm run bench -- mirror [options]

Copies a file of 1 GB, and then 1,000 files of 200 kB eight at a time and
three times over, from a server on loopback to a store. "Bare" is
undici's stream piped into the same place, without a database, hash or check. A fresh process for each, in turns; the
figures are medians.

  --store S    folder (default), or s3: a Ceph gateway on this machine, which is installed if need be (Debian, root)
  --rounds N   (5)
  --quick      one round of a tenth of the bytes, to see that it works`

const { values: options } = parseArgs({
  options: {
    store: { type: 'string', default: 'folder' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
const rounds = Number(options.rounds ?? (options.quick ? 1 : 5))
if (options.help || !['folder', 's3'].includes(options.store) || !(rounds >= 1)) {
  console.log(HELP)
  process.exit(options.help ? 0 : 2)
}

const LOADS = {
  large: { files: 1, bytes: options.quick ? 100e6 : 1024 ** 3, passes: 1 },
  small: { files: options.quick ? 100 : 1_000, bytes: 200_000, passes: 3 },
}
const measured: Measured = { large: { bare: [], holdfast: [] }, small: { bare: [], holdfast: [] } }

const undo: (() => Promise<unknown>)[] = []
async function stopAll(): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stopAll().finally(() => process.exit(130)))
}

try {
  const source = await startSource()
  undo.push(source.stop)
  const postgres = await startPostgres()
  undo.push(postgres.stop)
  const s3 = options.store === 's3' ? await startS3() : null
  if (s3) undo.push(s3.stop)

  for (let round = 0; round < rounds; round++) {
    for (const [load, { files, bytes, passes }] of Object.entries(LOADS) as [
      keyof typeof LOADS,
      typeof LOADS.large,
    ][]) {
      // Whoever goes first changes with every round.
      for (const contender of round % 2 === 0 ? CONTENDERS : CONTENDERS.toReversed()) {
        const report = await measure({ contender, files, bytes, passes, s3: s3?.settings ?? null })
        measured[load][contender].push(report)
        const speed = (files * bytes) / report.seconds / 1e6
        console.error(
          `round ${round + 1} of ${rounds}, ${load}: ${contender} ${speed.toFixed(0)} MB/s in ${report.seconds.toFixed(2)} s, +${report.rssGrowthMb.toFixed(0)} MB`,
        )
      }
    }
  }

  async function measure(
    load: Omit<ContenderSettings, 'sourceUrl' | 'databaseUrl' | 'folder' | 'concurrency'>,
  ): Promise<ContenderReport> {
    const { contender } = load
    const name = `mirror_${process.pid}_${Math.random().toString(36).slice(2)}`
    const databaseUrl = contender === 'bare' ? '' : await postgres.databaseUrl(name)
    if (databaseUrl) await migrateDatabase(databaseUrl)
    await postgres.checkpoint()
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-mirror-'))
    await chmod(folder, 0o755)
    try {
      const sourceUrl = source.url
      return await runContender({ ...load, sourceUrl, databaseUrl, folder, concurrency: 8 })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
} finally {
  await stopAll()
}

console.log(drawTable(measured, LOADS))
console.log(
  `\nThe store: ${options.store === 's3' ? 'a Ceph gateway (S3) with its objects in memory' : 'a folder'}`,
)
const summary = summarise(measured)
const shortfalls = findShortfalls(summary)
for (const shortfall of shortfalls) console.log(`Not met: ${shortfall}`)
console.log(JSON.stringify(summary))
process.exitCode = shortfalls.length > 0 ? 1 : 0
