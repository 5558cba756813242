import PgBoss from 'pg-boss'
import postgres from 'postgres'
import type { OpenContender } from '../contender.ts'
import { eachWithLimit } from '../each-with-limit.ts'
import { CONNECTIONS, queryProvider } from '../http-client.ts'
import { externalIdOf, NEXT_POLL_MS } from '../settings.ts'

const QUEUE = 'polls'
const LOOPS = 4
const BATCH = 1_000
const SEED_BATCH = 5_000

/**
 * pg-boss without its worker, one job per task. What nobody's documentation suggests, but the fastest way through it
 * that we know:
 * - `fetch` and `fail` in a loop by hand: no pause between two batches, and no error stored with every job;
 * - 1,000 at a time, and four loops in the process so that HTTP goes on while one of them waits for PostgreSQL;
 * - a batch is given back as failed with a fixed retry delay, which is one statement. Inserting new jobs that start
 *   later and completing the old ones is two, with a third more WAL (tried). It has a price that is not counted here: the
 *   outcome of a poll is stored only when the slowest of its batch is there;
 * - no priorities, which spares the fetch a sort key.
 */
export const openPgBossBulk: OpenContender = async ({ databaseUrl, tasks }, pool) => {
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
      await boss.fail(
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
            retryLimit: 1_000_000,
            retryDelay: NEXT_POLL_MS / 1_000,
          })),
        )
      }
      await sql`vacuum analyze pgboss.job`
    },
    async pollAll() {
      await Promise.all(Array.from({ length: LOOPS }, loop))
    },
    async makeDue() {
      await sql`update pgboss.job set start_after = now() - interval '1 s'`
      await sql`vacuum analyze pgboss.job`
    },
    async countWaiting() {
      const [row] = await sql<{ count: number }[]>`
        select count(*)::int from pgboss.job where state = 'retry' and start_after > now()
      `
      return row?.count ?? 0
    },
    async close() {
      await sql.end({ timeout: 5 })
      await boss.stop({ graceful: false, wait: false })
    },
  }
}
