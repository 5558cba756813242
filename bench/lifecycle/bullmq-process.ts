/**
 * The same life by hand on BullMQ, with PostgreSQL as the truth: a queue for each step, a worker for each queue, and a
 * row that is written at each step. Redis may forget: a sweep adds tasks again whose job never reached it.
 */
import { Queue, Worker } from 'bullmq'
import postgres from 'postgres'
import { openPeerTables } from './peer-tables.ts'
import { serveTasks } from './serve-tasks.ts'
import { type ContenderSettings, FIRST_POLL_MS, IN_FLIGHT, NEXT_POLL_MS } from './settings.ts'
import { createFileStore } from './store-file.ts'
import { createVendorClient } from './vendor-client.ts'

const COPIES_AT_ONCE = 64
const SWEEP_EVERY_MS = 5_000
/** Jobs that fail for a moment, a lost connection for one, are tried again. */
const JOB = { attempts: 10, backoff: { type: 'exponential', delay: 500 }, removeOnComplete: true }
interface JobData {
  id: string
  externalId: string
  url: string
}

const { databaseUrl, vendorUrl, folder, redisPort }: ContenderSettings = JSON.parse(process.argv[2] ?? '')
const sql = postgres(databaseUrl, { max: 10, onnotice: () => {} })
const tables = await openPeerTables(sql)
const vendor = createVendorClient(vendorUrl)
const storeFile = await createFileStore(folder)
const connection = {
  host: '127.0.0.1',
  port: redisPort,
  maxRetriesPerRequest: null,
  // Sends together what is asked for in the same turn: `bench -- poll` was faster with it.
  enableAutoPipelining: true,
}
const sends = new Queue<Pick<JobData, 'id'>>('send', { connection, defaultJobOptions: JOB })
const polls = new Queue<Pick<JobData, 'id' | 'externalId'>>('poll', { connection, defaultJobOptions: JOB })
const copies = new Queue<Pick<JobData, 'id' | 'url'>>('copy', { connection, defaultJobOptions: JOB })
// What the round before left behind.
for (const queue of [sends, polls, copies]) await queue.obliterate({ force: true })

const workers = [
  new Worker<JobData>(
    'send',
    async ({ data: { id } }) => {
      const [marked] = await tables.mark([id])
      if (!marked) return
      const externalId = await vendor.create(marked.params)
      await tables.accept(id, externalId)
      await polls.add('poll', { id, externalId }, { delay: FIRST_POLL_MS })
    },
    { connection, concurrency: IN_FLIGHT.create },
  ),
  new Worker<JobData>(
    'poll',
    async ({ data: { id, externalId } }) => {
      const url = await vendor.query(externalId)
      if (url === null) return void (await polls.add('poll', { id, externalId }, { delay: NEXT_POLL_MS }))
      await tables.settle(id, url)
      await copies.add('copy', { id, url })
    },
    { connection, concurrency: IN_FLIGHT.query },
  ),
  new Worker<JobData>(
    'copy',
    async ({ data: { id, url } }) => {
      await tables.stored(await storeFile(id, await vendor.file(url)))
    },
    { connection, concurrency: COPIES_AT_ONCE },
  ),
]
for (const worker of workers) worker.on('error', (error) => console.error(error))
await Promise.all(workers.map((worker) => worker.waitUntilReady()))

async function sweep(): Promise<void> {
  const forgotten = await tables.findForgotten()
  // Under the same id a job that is there is not added twice.
  await sends.addBulk(forgotten.map(({ id }) => ({ name: 'send', data: { id }, opts: { jobId: id } })))
}
setInterval(() => void sweep().catch((error: unknown) => console.error(error)), SWEEP_EVERY_MS)

serveTasks({
  async create(task) {
    const created = await tables.insert(sql, task)
    if (!created) return tables.findByKey(task)
    await sends.add('send', { id: task.id }, { jobId: task.id })
    return { ...created, isNew: true }
  },
  find: tables.find,
})
