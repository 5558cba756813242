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
import { type Call, startCaller } from './restore/start-caller.ts'
import { startRestorePostgres } from './restore/start-restore-postgres.ts'
import { idleProvider, idleTypes } from './stream/idle-provider.ts'
import { median, percentile } from './stream/percentile.ts'

const HELP = `npm run bench -- restore-query [options]

Writes the tasks (about five minutes for ten million, 8 GB in the folder for temporary files), then asks as a browser
does. The times of PostgreSQL are its own ("explain analyze" of the very statements that the server sends, prepared).
End to end is asked by another process, in turn with the bare limit: the same bytes, ready, after one "select 1".

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

interface Times {
  p50Ms: number
  p99Ms: number
}
interface Row {
  what: string
  p50Ms: number
  p99Ms: number
  planningMs: number
  endToEnd: Times
  bare: Times
  bytes: number
}
const BARE: Call = { path: '/bare', headers: {} }
const timesOf = (ms: number[]): Times => ({ p50Ms: median(ms), p99Ms: percentile(ms, 0.99) })
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
    requestsPerMinute: { user: 1_000_000, address: 1_000_000 },
    providers: [idleProvider],
    types: idleTypes,
    log: createLog('warn'),
  })
  let ready = ''
  http.on('request', async (request, response) => {
    if (request.url !== BARE.path) return holdfast.listener(request, response)
    await sql`select 1`
    response.setHeader('content-type', 'application/json').end(ready)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const caller = startCaller(url)

  const answerTo = async ({ path, headers, body }: Call) => {
    const response = await fetch(
      url + path,
      body === undefined ? { headers } : { headers, method: 'POST', body },
    )
    const text = await response.text()
    if (!response.ok && response.status !== 304) throw new Error(`${response.status}: ${text}`)
    return { text, etag: response.headers.get('etag') ?? '' }
  }

  for (const { userId, active } of SUBJECTS) {
    const headers = { authorization: `Bearer ${userId}`, 'content-type': 'application/json' }
    const list: Call = { path: `/v1/tasks?status=active&limit=${Math.min(200, active)}`, headers }
    const sync = (body: unknown): Call => ({ path: '/v1/sync', headers, body: JSON.stringify(body) })
    const { etag } = await answerTo(list)
    const first = JSON.parse((await answerTo(sync({}))).text)
    const cursor = { cursor: first.cursor }
    const known = Object.fromEntries(
      first.tasks.map((task: { id: string; version: number; progress: number }) => [
        task.id,
        [task.version, task.progress],
      ]),
    )
    const questions: [string, Call][] = [
      [`list, ${Math.min(200, active)} of ${active} active`, list],
      ['list again, unchanged (304)', { ...list, headers: { ...headers, 'if-none-match': etag } }],
      [`first sync, ${first.tasks.length} tasks`, sync({})],
      ['sync with a cursor', sync(cursor)],
      [`sync with a cursor and ${Object.keys(known).length} known`, sync({ ...cursor, known })],
    ]
    for (const [what, question] of questions) {
      sent = []
      ready = (await answerTo(question)).text
      const [statement, second] = sent
      if (!statement || second) throw new Error(`${what} is not one statement.`)
      const [answers = [], bare = []] = await caller.ask([question, BARE], times)
      const { executionMs, planningMs, plan } = await explain(sql, statement, times)
      rows.push({
        what: `${userId}: ${what}`,
        p50Ms: median(executionMs),
        p99Ms: percentile(executionMs, 0.99),
        planningMs: median(planningMs),
        endToEnd: timesOf(answers),
        bare: timesOf(bare),
        bytes: ready.length,
      })
      plans.push(`-- ${userId}: ${what}\n${plan}`)
    }
  }
  caller.stop()
} finally {
  await stopAll()
}

if (options.plans) console.log(`\n${plans.join('\n\n')}`)
const width = Math.max(...rows.map(({ what }) => what.length))
console.log(
  `\n${'ms'.padEnd(width)}   PostgreSQL p50   p99   planning   end to end p50   p99   bare p50   p99   bytes`,
)
for (const { what, p50Ms, p99Ms, planningMs, endToEnd, bare, bytes } of rows) {
  const cells = [p50Ms, p99Ms, planningMs, endToEnd.p50Ms, endToEnd.p99Ms, bare.p50Ms, bare.p99Ms]
  console.log(
    `${what.padEnd(width)}   ${cells.map((ms) => ms.toFixed(2).padStart(8)).join('   ')}   ${bytes}`,
  )
}
const of = (what: string) => rows.filter((row) => row.what.includes(what))
const worst = (chosen: Row[]) => Number(Math.max(...chosen.map(({ p99Ms }) => p99Ms)).toFixed(2))
/** Fifty tasks in the answer, however they are asked for. */
const fifty = rows.filter(({ what }) => what.includes('list, 50') || what.includes('first sync, 50'))
const most = (of: (row: Row) => number) => Number(Math.max(...fifty.map(of)).toFixed(2))
const summary = {
  tasks,
  listP99Ms: worst(of(': list, ')),
  syncP99Ms: worst(of('sync')),
  endToEnd50: {
    p50Ms: most(({ endToEnd }) => endToEnd.p50Ms),
    p99Ms: most(({ endToEnd }) => endToEnd.p99Ms),
  },
  bare50: { p50Ms: most(({ bare }) => bare.p50Ms), p99Ms: most(({ bare }) => bare.p99Ms) },
}
const late = rows.filter(({ p99Ms }) => p99Ms >= 5)
for (const { what, p99Ms } of late)
  console.log(`Not met: ${what} took ${p99Ms.toFixed(1)} ms at p99; wanted are 5.`)
console.log(JSON.stringify(summary))
process.exitCode = late.length > 0 ? 1 : 0
