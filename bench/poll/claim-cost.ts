/**
 * What one claim of polls costs, looked at closely: CPU time of PostgreSQL's backend and of this process per row, and
 * WAL. For work on the claim itself; the benchmark is `npm run bench -- poll`.
 *
 *     node --conditions=holdfast-source bench/poll/claim-cost.ts [rows per claim] [passes] [--explain]
 */
import { readFile } from 'node:fs/promises'
import postgres from 'postgres'
import { ALL_LANES } from '../../packages/server/src/engine/lanes.ts'
import { claimPolls } from '../../packages/server/src/work/poll/claim-polls.ts'
import { openHoldfast } from './contenders/holdfast.ts'
import { openPool } from './http-client.ts'
import type { ContenderSettings } from './settings.ts'
import { startPostgres } from './start-postgres.ts'
import { startProvider } from './start-provider.ts'

const TASKS = 30_000
const explain = process.argv.includes('--explain')
const [rows = 1_000, passes = 4] = process.argv
  .slice(2)
  .filter((word) => /^\d+$/.test(word))
  .map(Number)

const server = await startPostgres()
const provider = await startProvider()
const pool = openPool(provider.url)
const databaseUrl = await server.databaseUrl('claim_cost')
const settings = { databaseUrl, providerUrl: provider.url, tasks: TASKS } as ContenderSettings
const contender = await openHoldfast(settings, pool)
const sql = postgres(databaseUrl, { max: 1, onnotice: ({ message }) => console.log(message) })
try {
  await contender.seed()
  await contender.pollAll()
  const [backend] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const perRow: { storeUs: number; ownUs: number; wal: number }[] = []
  for (let pass = 0; pass < passes; pass++) {
    await contender.makeDue()
    if (explain && pass === passes - 1) await explainAll()
    let before = await read(backend?.pid ?? 0)
    for (let count = rows; count > 0; ) {
      count = (await claimPolls(sql, options())).works.length
      const after = await read(backend?.pid ?? 0)
      if (count === rows) {
        perRow.push({
          storeUs: (after.storeUs - before.storeUs) / count,
          ownUs: (after.ownUs - before.ownUs) / count,
          wal: (after.wal - before.wal) / count,
        })
      }
      before = after
    }
  }
  // The tenth percentile: on a machine with other work, the cheapest tenth says more about the code than the middle.
  for (const [part, title] of [
    [0.1, 'tenth percentile'],
    [0.5, 'median'],
  ] as const) {
    const at = (name: 'storeUs' | 'ownUs' | 'wal') =>
      perRow
        .map((each) => each[name])
        .sort((a, b) => a - b)
        [Math.floor(perRow.length * part)]?.toFixed(1)
    console.log(
      `${title} of ${perRow.length} claims, per row: ${at('storeUs')} µs in PostgreSQL, ${at('ownUs')} µs here, ${at('wal')} bytes of WAL`,
    )
  }
} finally {
  await sql.end({ timeout: 5 })
  await contender.close()
  await pool.close()
  await provider.stop()
  await server.stop()
}
process.exit(0)

function options() {
  return { provider: 'kie', lanes: ALL_LANES, limit: rows, replica: 'bench', inFlight: 0, leaseMs: 15_000 }
}

async function read(pid: number) {
  const [ns = '0'] = (await readFile(`/proc/${pid}/schedstat`, 'utf8')).split(' ')
  const { user, system } = process.cpuUsage()
  const [row] = await sql<
    { wal: number }[]
  >`select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as wal`
  return { storeUs: Number(ns) / 1_000, ownUs: user + system, wal: row?.wal ?? 0 }
}

async function explainAll(): Promise<void> {
  await sql`load 'auto_explain'`
  for (const [name, value] of [
    ['auto_explain.log_min_duration', '0'],
    ['auto_explain.log_analyze', 'on'],
    ['auto_explain.log_buffers', 'on'],
    ['auto_explain.log_wal', 'on'],
    ['client_min_messages', 'log'],
  ] as const) {
    await sql`select set_config(${name}, ${value}, false)`
  }
}
