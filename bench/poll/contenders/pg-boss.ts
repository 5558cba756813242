import PgBoss from 'pg-boss'
import postgres from 'postgres'
import type { OpenContender } from '../contender.ts'
import { eachWithLimit } from '../each-with-limit.ts'
import { CONNECTIONS, queryProvider } from '../http-client.ts'
import { externalIdOf, NEXT_POLL_MS } from '../settings.ts'

const QUEUE = 'polls'
const WORKERS = 4
const BATCH = 1_000
const SEED_BATCH = 5_000

/** What pg-boss stores with every job that is given back. Without a stack it is short. */
const NOT_YET = new Error('still generating')
NOT_YET.stack = ''

/**
 * pg-boss as its documentation runs it, one job per task:
 * - `work()` with a batch of 1,000, four times in the process, so that HTTP goes on while one waits for PostgreSQL;
 * - the shortest polling interval that it takes (half a second), and `notifyWorker` from the handler, which skips even
 *   that while there is more to do;
 * - the handler throws, so the whole batch comes back after its fixed retry delay: one statement. To insert new
 *   jobs that start later and let the old ones complete is two;
 * - no priorities, which spares the fetch a sort key; no supervision and no schedules.
 */
export const openPgBoss: OpenContender = async ({ databaseUrl, tasks }, pool) => {
  const boss = new PgBoss({ connectionString: databaseUrl, max: 10, supervise: false, schedule: false })
  boss.on('error', (error) => console.error(error))
  await boss.start()
  await boss.createQueue(QUEUE)
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  let polled = 0
  let allPolled = Promise.withResolvers<void>()

  async function startWorker(): Promise<string> {
    const id = await boss.work<{ externalId: string }>(
      QUEUE,
      { batchSize: BATCH, pollingIntervalSeconds: 0.5, priority: false },
      async (jobs) => {
        await eachWithLimit(jobs, CONNECTIONS, (job) => queryProvider(pool, job.data.externalId))
        polled += jobs.length
        if (polled >= tasks) allPolled.resolve()
        boss.notifyWorker(id)
        throw NOT_YET
      },
    )
    return id
  }

  async function countWaiting(): Promise<number> {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int from pgboss.job where state = 'retry' and start_after > now()
    `
    return row?.count ?? 0
  }

  return {
    async seed() {
      await boss.clearStorage()
      for (let from = 0; from < tasks; from += SEED_BATCH) {
        const count = Math.min(SEED_BATCH, tasks - from)
        await boss.insert(
          Array.from({ length: count }, (_, index) => ({
            name: QUEUE,
            data: { externalId: externalIdOf(from + index) },
            retryLimit: 1_000_000,
            retryDelay: NEXT_POLL_MS / 1_000,
          })),
        )
      }
      await sql`vacuum analyze pgboss.job`
    },
    async pollAll() {
      polled = 0
      allPolled = Promise.withResolvers()
      await Promise.all(Array.from({ length: WORKERS }, startWorker))
      await allPolled.promise
      // The worker does not wait for what it gives back to be stored.
      while ((await countWaiting()) < tasks) await new Promise((resolve) => setTimeout(resolve, 10))
      await boss.offWork(QUEUE)
    },
    async makeDue() {
      await sql`update pgboss.job set start_after = now() - interval '1 s'`
      await sql`vacuum analyze pgboss.job`
    },
    countWaiting,
    async close() {
      await sql.end({ timeout: 5 })
      await boss.stop({ graceful: false, wait: false })
    },
  }
}
