/**
 * The same life by hand on pg-boss: a queue for each step, its workers with batches as its documentation has them.
 * - Task and first job are inserted in one transaction; later jobs are inserted in bulk when a batch is done. If the
 *   process dies before that, pg-boss hands the batch out again and its steps change nothing the second time.
 * - Workers are notified of what is there, so that they do not wait for their half second.
 */
import PgBoss from 'pg-boss'
import postgres, { type Sql } from 'postgres'
import { openPeerTables } from './peer-tables.ts'
import { serveTasks } from './serve-tasks.ts'
import { type ContenderSettings, FIRST_POLL_MS, IN_FLIGHT, NEXT_POLL_MS } from './settings.ts'
import { createFileStore } from './store-file.ts'
import { createVendorClient } from './vendor-client.ts'

const WORKERS = 4
const BATCHES = { send: IN_FLIGHT.create / WORKERS, poll: IN_FLIGHT.query / WORKERS, copy: 16 }
type Step = keyof typeof BATCHES
interface JobData {
  id: string
  externalId: string
  url: string
}

const { databaseUrl, vendorUrl, folder }: ContenderSettings = JSON.parse(process.argv[2] ?? '')
const sql = postgres(databaseUrl, { max: 10, onnotice: () => {} })
const tables = await openPeerTables(sql)
const vendor = createVendorClient(vendorUrl)
const storeFile = await createFileStore(folder)
const boss = new PgBoss({ connectionString: databaseUrl, max: 10 })
boss.on('error', (error) => console.error(error))
await boss.start()

const workers: Record<Step, string[]> = { send: [], poll: [], copy: [] }
let next = 0
/** One worker after the other, so that all of them are busy when there is much to do. */
function notify(step: Step): void {
  next += 1
  const id = workers[step][next % WORKERS]
  if (id) boss.notifyWorker(id)
}

interface NextJob {
  step: Step
  data: Partial<JobData>
  afterMs: number
}

async function startWorkers(step: Step, run: (jobs: JobData[]) => Promise<NextJob[]>): Promise<void> {
  await boss.createQueue(step)
  for (let n = 0; n < WORKERS; n += 1) {
    const options = { batchSize: BATCHES[step], pollingIntervalSeconds: 0.5, priority: false }
    const id = await boss.work<JobData>(step, options, async (jobs) => {
      const following = await run(jobs.map(({ data }) => data))
      const now = Date.now()
      if (following.length > 0) {
        await boss.insert(
          following.map(({ step, data, afterMs }) => ({
            name: step,
            data,
            ...(afterMs > 0 ? { startAfter: new Date(now + afterMs).toISOString() } : {}),
          })),
        )
      }
      for (const to of new Set(following.map(({ step }) => step))) if (to === 'copy') notify('copy')
      boss.notifyWorker(id)
    })
    workers[step].push(id)
  }
}

await startWorkers('send', async (jobs) => {
  const marked = await tables.mark(jobs.map(({ id }) => id))
  return Promise.all(
    marked.map(async ({ id, params }): Promise<NextJob> => {
      const externalId = await vendor.create(params)
      await tables.accept(id, externalId)
      return { step: 'poll', data: { id, externalId }, afterMs: FIRST_POLL_MS }
    }),
  )
})
await startWorkers('poll', (jobs) =>
  Promise.all(
    jobs.map(async ({ id, externalId }): Promise<NextJob> => {
      const url = await vendor.query(externalId)
      if (url === null) return { step: 'poll', data: { id, externalId }, afterMs: NEXT_POLL_MS }
      await tables.settle(id, url)
      return { step: 'copy', data: { id, url }, afterMs: 0 }
    }),
  ),
)
await startWorkers('copy', async (jobs) => {
  await Promise.all(
    jobs.map(async ({ id, url }) => {
      await tables.stored(await storeFile(id, await vendor.file(url)))
    }),
  )
  return []
})

serveTasks({
  async create(task) {
    const created = await sql.begin(async (tx) => {
      const row = await tables.insert(tx as unknown as Sql, task)
      if (!row) return null
      const db = {
        executeSql: async (text: string, values: unknown[]) => ({
          rows: await tx.unsafe(text, values.map((value) => value ?? null) as never[], { prepare: true }),
        }),
      }
      await boss.send('send', { id: task.id }, { db })
      return row
    })
    if (!created) return tables.findByKey(task)
    notify('send')
    return { ...created, isNew: true }
  },
  find: tables.find,
})
