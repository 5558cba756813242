/** A user comes back to 20 and to 1,000 running tasks: when they are on the screen, when the server has confirmed them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from '@playwright/test'
import { chromiumPath } from '../e2e/engines/browser-paths.ts'
import { createHoldfast } from '../packages/server/src/create-holdfast.ts'
import { connect } from '../packages/server/src/database/connect.ts'
import { createLog } from '../packages/server/src/log.ts'
import { startPostgres } from './poll/start-postgres.ts'
import { buildPages } from './restore-page/build-pages.ts'
import { CONTENDERS, type Contender, type Shown } from './restore-page/contenders.ts'
import { countRequests, TABS } from './restore-page/count-requests.ts'
import { seedUsers } from './restore-page/seed-users.ts'
import { type Site, servePages } from './restore-page/serve-pages.ts'
import { addressOf, type Visit, visit } from './restore-page/visit.ts'
import { idleProvider, idleTypes } from './stream/idle-provider.ts'
import { median } from './stream/percentile.ts'

const HELP = `npm run bench -- restore [options]

The same list of cards in React, three times: by Holdfast, by TanStack Query with persistence and broadcast, by the source's
batches of five; and by nobody, at once, which is the limit ("bare"). Each visit is a new tab of a browser that was here
before; they take turns. Then ten tabs of each.

  --quick          five visits and ten seconds of ten tabs, to see that it works
  --visits N       (21)
  --seconds N      how long the requests of ten tabs are counted (60); 0: not at all
  --sizes N,N      (20,1000)
  --network N      how many milliseconds the API is away, there and back (0)
  --only NAME,…    holdfast, tanstack, source`

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    visits: { type: 'string' },
    seconds: { type: 'string' },
    sizes: { type: 'string', default: '20,1000' },
    network: { type: 'string', default: '0' },
    only: { type: 'string', default: CONTENDERS.join() },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const visits = Number(options.visits ?? (options.quick ? 5 : 21))
const seconds = Number(options.seconds ?? (options.quick ? 10 : 60))
const sizes = options.sizes.split(',').map(Number)
const contenders = CONTENDERS.filter((name) => options.only.split(',').includes(name))
const shown: Shown[] = [...contenders, 'bare']

const undo: (() => unknown)[] = []
let stopping: Promise<void> | undefined
/** Once, whoever asks first: a signal, the end, or what the signal broke. */
function stopAll(): Promise<void> {
  stopping ??= (async () => {
    for (const step of undo.splice(0).reverse()) await step()
  })()
  return stopping
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stopAll().finally(() => process.exit(130)))
}

type Column = 'paintMs' | 'confirmedMs' | 'requestsPerMinute'
type Figures = Record<Column, Partial<Record<Contender, number>>> & { bareMs: number }

const round = (value: number) => Math.round(value * 10) / 10
const summary = (values: number[]) =>
  `${median(values).toFixed(0)} (${Math.min(...values).toFixed(0)}–${Math.max(...values).toFixed(0)})`.padStart(
    20,
  )

try {
  const postgres = await startPostgres()
  undo.push(() => postgres.stop())
  const sql = connect(await postgres.databaseUrl('restore'))
  const holdfast = createHoldfast({
    database: sql,
    auth: async (token) => ({ userId: token, expiresAt: null }),
    requestsPerMinute: { user: 1_000_000, address: 1_000_000 },
    providers: [idleProvider],
    types: idleTypes,
    // Tabs that are closed in the middle of a stream are worth a warning elsewhere.
    log: createLog('error'),
  })
  undo.push(
    () => sql.end({ timeout: 5 }),
    () => holdfast.stop(),
  )
  await holdfast.migrate()
  await seedUsers(sql, sizes)
  const pages = await buildPages()
  undo.push(pages.remove)
  // At an address of its own, so that no contender has to read what another one keeps in this browser.
  const sites = new Map<Shown, Site>()
  for (const name of shown) {
    const site = await servePages(pages.folder, holdfast.listener, Number(options.network))
    undo.push(site.close)
    sites.set(name, site)
  }
  const profile = await mkdtemp(join(tmpdir(), 'holdfast-bench-profile-'))
  undo.push(() => rm(profile, { recursive: true, force: true }))
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath(),
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--no-first-run'],
  })
  undo.push(() => browser.close())

  const figures: Record<number, Figures> = {}
  for (const size of sizes) {
    const seen = new Map<Shown, Visit[]>(shown.map((name) => [name, []]))
    const address = (name: Shown) => addressOf(sites.get(name)?.url ?? '', name, size)
    // The first fills the local copies, the second the browser's own caches of compiled code.
    for (const name of [...shown, ...shown]) await visit(browser, address(name), true)
    for (let turn = 0; turn < visits; turn++) {
      const order = [...shown.slice(turn % shown.length), ...shown].slice(0, shown.length)
      for (const name of order) seen.get(name)?.push(await visit(browser, address(name)))
    }
    const bareMs = round(median((seen.get('bare') ?? []).map(({ paintMs }) => paintMs)))
    const result: Figures = { paintMs: {}, confirmedMs: {}, requestsPerMinute: {}, bareMs }
    console.log(`\n${size} tasks, ${visits} visits each: median (from–to)`)
    console.log('              painted, ms          confirmed, ms        requests per tab and minute')
    for (const name of contenders) {
      const all = seen.get(name) ?? []
      const paint = all.map(({ paintMs }) => paintMs)
      const confirmed = all.map(({ confirmedMs }) => confirmedMs)
      result.paintMs[name] = round(median(paint))
      result.confirmedMs[name] = round(median(confirmed))
      if (seconds > 0) {
        const rate = await countRequests(
          browser,
          address(name),
          () => sites.get(name)?.calls() ?? 0,
          seconds * 1_000,
        )
        result.requestsPerMinute[name] = round(rate)
      }
      const rate = result.requestsPerMinute[name]?.toFixed(1) ?? '–'
      console.log(`${name.padEnd(10)}${summary(paint)} ${summary(confirmed)} ${rate.padStart(18)}`)
    }
    console.log(`${'bare'.padEnd(10)}${`${bareMs.toFixed(0)}`.padStart(8)}`)
    figures[size] = result
  }
  console.log(`\nRequests: ${TABS} tabs, one of them visible, for ${seconds} s from the first one's opening.`)
  console.log(JSON.stringify(figures))
  const isFirst = ({ holdfast: ours = 0, ...others }: Partial<Record<Contender, number>>) =>
    Object.values(others).every((theirs) => ours < theirs)
  const columns = Object.values(figures).flatMap(({ bareMs: _, ...each }) => Object.values(each))
  process.exitCode = columns.every((column) => Object.keys(column).length === 0 || isFirst(column)) ? 0 : 1
} finally {
  await stopAll()
}
