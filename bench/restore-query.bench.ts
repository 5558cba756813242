/** What a device that comes back asks for, with 10,000,000 tasks in the table: PostgreSQL's time, plans, and end to end. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import postgres from 'postgres'
import { createHoldfast } from '../packages/server/src/create-holdfast.ts'
import { arrayTypes } from '../packages/server/src/database/array-types.ts'
import { migrate } from '../packages/server/src/database/migrate.ts'
import { createLog } from '../packages/server/src/log.ts'
import { explain, type Sent } from './restore/explain.ts'
import { SUBJECTS, seedMillions } from './restore/seed-millions.ts'
import { startRestorePostgres } from './restore/start-restore-postgres.ts'
import { idleProvider, idleTypes } from './stream/idle-provider.ts'
import { median, percentile } from './stream/percentile.ts'

const HELP = `npm run bench -- restore-query [options]

Writes the tasks (about five minutes for ten million, 8 GB in the folder for temporary files), then asks as a browser
does. The times of PostgreSQL are its own ("explain analyze" of the very statements that the server sends, prepared).

  --quick          100,000 tasks, to see that it works
  --tasks N        (10000000)
  --times N        how often each is asked (500)
  --plans          print the plans`

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    tasks: { type: 'string' },
    times: { type: 'string' },
    plans: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const tasks = Number(options.tasks ?? (options.quick ? 300_000 : 10_000_000))
const times = Number(options.times ?? (options.quick ? 50 : 500))

const server = await startRestorePostgres()
let sent: Sent[] = []
const sql = postgres(server.url, {
  max: 4,
  fetch_types: false,
  types: arrayTypes,
  onnotice: () => {},
  debug: (_, text, params) => void sent.push({ text, params: params as unknown[] }),
})
const http = createServer()
async function stopAll(): Promise<void> {
  http.close()
  http.closeAllConnections()
  await sql.end({ timeout: 5 })
  await server.stop()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stopAll().finally(() => process.exit(130)))
}

interface Row {
  what: string
  p50Ms: number
  p99Ms: number
  planningMs: number
  endToEnd: { p50Ms: number; p99Ms: number; bytes: number }
}
const rows: Row[] = []
const plans: string[] = []

try {
  await migrate(sql, { log: () => {} })
  const began = performance.now()
  await seedMillions(sql, tasks, (line) => console.error(line))
  console.error(`seeded in ${((performance.now() - began) / 1000).toFixed(0)} s`)
  const [size] = await sql<{ table: string; all: string }[]>`
    select pg_size_pretty(pg_relation_size('holdfast.tasks')) as table, pg_size_pretty(pg_total_relation_size('holdfast.tasks')) as all
  `
  console.log(`${tasks} tasks: ${size?.table}, with indexes ${size?.all}`)

  const holdfast = createHoldfast({
    database: sql,
    auth: async (token) => ({ userId: token, expiresAt: null }),
    providers: [idleProvider],
    types: idleTypes,
    log: createLog('warn'),
  })
  http.on('request', holdfast.listener)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`

  const ask = async (userId: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const startedAt = performance.now()
    const response = await fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${userId}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok && response.status !== 304) throw new Error(`${response.status}: ${text}`)
    return { text, ms: performance.now() - startedAt, etag: response.headers.get('etag') ?? '' }
  }

  for (const { userId, active } of SUBJECTS) {
    const list = `/v1/tasks?status=active&limit=${Math.min(200, active)}`
    const { etag } = await ask(userId, list)
    const first = JSON.parse((await ask(userId, '/v1/sync', {})).text)
    const cursor = { cursor: first.cursor }
    const known = Object.fromEntries(
      first.tasks.map((task: { id: string; version: number; progress: number }) => [
        task.id,
        [task.version, task.progress],
      ]),
    )
    const questions: [string, () => ReturnType<typeof ask>][] = [
      [`list, ${Math.min(200, active)} of ${active} active`, () => ask(userId, list)],
      ['list again, unchanged (304)', () => ask(userId, list, undefined, { 'if-none-match': etag })],
      [`first sync, ${first.tasks.length} tasks`, () => ask(userId, '/v1/sync', {})],
      ['sync with a cursor', () => ask(userId, '/v1/sync', cursor)],
      [
        `sync with a cursor and ${Object.keys(known).length} known`,
        () => ask(userId, '/v1/sync', { ...cursor, known }),
      ],
    ]
    for (const [what, question] of questions) {
      for (let n = 0; n < 20; n += 1) await question()
      sent = []
      const answers = []
      for (let n = 0; n < times; n += 1) answers.push(await question())
      const [statement, second] = sent
      if (!statement || (second && second.text !== statement.text))
        throw new Error(`${what} is more than one statement.`)
      const { executionMs, planningMs, plan } = await explain(sql, statement, times)
      const ms = answers.map((answer) => answer.ms)
      rows.push({
        what: `${userId}: ${what}`,
        p50Ms: median(executionMs),
        p99Ms: percentile(executionMs, 0.99),
        planningMs: median(planningMs),
        endToEnd: { p50Ms: median(ms), p99Ms: percentile(ms, 0.99), bytes: answers[0]?.text.length ?? 0 },
      })
      plans.push(`-- ${userId}: ${what}\n${plan}`)
    }
  }
} finally {
  await stopAll()
}

if (options.plans) console.log(`\n${plans.join('\n\n')}`)
const width = Math.max(...rows.map(({ what }) => what.length))
console.log(`\n${'ms'.padEnd(width)}   PostgreSQL p50   p99   planning   end to end p50   p99   bytes`)
for (const { what, p50Ms, p99Ms, planningMs, endToEnd } of rows) {
  const cells = [p50Ms, p99Ms, planningMs, endToEnd.p50Ms, endToEnd.p99Ms].map((ms) =>
    ms.toFixed(2).padStart(8),
  )
  console.log(`${what.padEnd(width)}   ${cells.join('   ')}   ${endToEnd.bytes}`)
}
const of = (what: string) => rows.filter((row) => row.what.includes(what))
const worst = (chosen: Row[]) => Number(Math.max(...chosen.map(({ p99Ms }) => p99Ms)).toFixed(2))
const fifty = rows.filter(({ what }) => what.startsWith('fifty: list, ') || what.startsWith('fifty: first'))
const summary = {
  tasks,
  listP99Ms: worst(of(': list, ')),
  syncP99Ms: worst(of('sync')),
  endToEnd50P50Ms: Number(Math.max(...fifty.map(({ endToEnd }) => endToEnd.p50Ms)).toFixed(2)),
  endToEnd50P99Ms: Number(Math.max(...fifty.map(({ endToEnd }) => endToEnd.p99Ms)).toFixed(2)),
}
const late = rows.filter(({ p99Ms }) => p99Ms >= 5)
for (const { what, p99Ms } of late)
  console.log(`Not met: ${what} took ${p99Ms.toFixed(1)} ms at p99; wanted are 5.`)
console.log(JSON.stringify(summary))
process.exitCode = late.length > 0 ? 1 : 0
