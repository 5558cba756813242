import PgBoss from 'pg-boss'
import postgres from 'postgres'
import type { OpenContender } from '../contender.ts'
import { eachWithLimit } from '../each-with-limit.ts'
import { CONNECTIONS, queryProvider } from '../http-client.ts'
import { externalIdOf, NEXT_POLL_MS } from '../settings.ts'

const QUEUE = 'polls'
const LOOPS = 4
const BATCH = 500
const SEED_BATCH = 5_000

/**
 * One job per task. Chosen by trying:
 * - `fetch`, `insert` and `complete` by hand, because `work()` waits half a second between batches at the least;
 * - 500 at a time, and four loops in the process so that HTTP goes on while one of them waits for PostgreSQL;
 * - the next poll is a new job that starts later, inserted before the old one is completed, so that a crash between
 *   the two loses nothing. `fail` with a retry delay keeps the job, but deletes and inserts it anew and is no faster;
 * - no priorities (`priority: false`), which spares the fetch a sort key.
 */
export const openPgBoss: OpenContender = async ({ databaseUrl, tasks }, pool) => {
  const boss = new PgBoss({ connectionString: databaseUrl, max: 10, supervise: false, schedule: false })
  boss.on('error', (error) => console.error(error))
  await boss.start()
  await boss.createQueue(QUEUE)
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })

  async function loop(): Promise<void> {
    while (true) {
      const jobs = await boss.fetch<{ externalId: string }>(QUEUE, { batchSize: BATCH, priority: false })
      if (jobs.length === 0) return
      await eachWithLimit(jobs, CONNECTIONS, (job) => queryProvider(pool, job.data.externalId))
      const startAfter = new Date(Date.now() + NEXT_POLL_MS)
      await boss.insert(jobs.map(({ data }) => ({ name: QUEUE, data, startAfter })))
      await boss.complete(
        QUEUE,
        jobs.map(({ id }) => id),
      )
    }
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
          })),
        )
      }
      await sql`vacuum analyze pgboss.job`
    },
    async pollAll() {
      await Promise.all(Array.from({ length: LOOPS }, loop))
    },
    async makeDue() {
      // Its own maintenance archives them later.
      await sql`delete from pgboss.job where state = 'completed'`
      await sql`update pgboss.job set start_after = now() - interval '1 s' where state = 'created'`
      await sql`vacuum analyze pgboss.job`
    },
    async countWaiting() {
      const [row] = await sql<{ count: number }[]>`
        select count(*)::int from pgboss.job where state = 'created' and start_after > now()
      `
      return row?.count ?? 0
    },
    async close() {
      await sql.end({ timeout: 5 })
      await boss.stop({ graceful: false, wait: false })
    },
  }
}
