import { Logger, makeWorkerUtils, type Runner, run } from 'graphile-worker'
import postgres from 'postgres'
import type { OpenContender } from '../contender.ts'
import { queryProvider } from '../http-client.ts'
import { externalIdOf, NEXT_POLL_MS } from '../settings.ts'
import { writeTogether } from '../write-together.ts'

const CONCURRENCY = 400
const SEED_BATCH = 5_000

/**
 * One job per task. Of three settings tried, the one with the least CPU per poll:
 * - `localQueue` fetches 2,000 jobs at once, completions are written together (`completeJobBatchDelay: 0`), no refetch
 *   delay;
 * - the next poll is a new job with a later `runAt`: a locked job cannot be rescheduled. The handlers' new jobs are
 *   added together with `addJobs`, up to 400 at once, and each handler waits for its own, so that nothing is lost;
 * - 400 jobs at a time, because most of them wait for that write.
 */
export const openGraphileWorker: OpenContender = async ({ databaseUrl, tasks }, pool) => {
  const logger = new Logger(() => (level, message) => {
    if (level === 'error') console.error(message)
  })
  const preset = {
    worker: {
      connectionString: databaseUrl,
      maxPoolSize: 20,
      concurrentJobs: CONCURRENCY,
      pollInterval: 1_000,
      localQueue: { size: 2_000 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      logger,
    },
  }
  const utils = await makeWorkerUtils({ preset })
  await utils.migrate()
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => {} })
  let runner: Runner | undefined
  let polled = 0
  let allPolled = Promise.withResolvers<void>()

  const pollLater = writeTogether(
    (payloads: { externalId: string }[]) => {
      const runAt = new Date(Date.now() + NEXT_POLL_MS)
      return utils.addJobs(payloads.map((payload) => ({ identifier: 'poll', payload, runAt })))
    },
    { maxItems: CONCURRENCY, maxDelayMs: 2 },
  )

  async function poll(payload: unknown): Promise<void> {
    const { externalId } = payload as { externalId: string }
    await queryProvider(pool, externalId)
    await pollLater({ externalId })
    if (++polled === tasks) allPolled.resolve()
  }

  async function countWaiting(): Promise<number> {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int from graphile_worker._private_jobs where run_at > now()
    `
    return row?.count ?? 0
  }

  return {
    async seed() {
      await sql`truncate graphile_worker._private_jobs`
      for (let from = 0; from < tasks; from += SEED_BATCH) {
        const count = Math.min(SEED_BATCH, tasks - from)
        await utils.addJobs(
          Array.from({ length: count }, (_, index) => ({
            identifier: 'poll',
            payload: { externalId: externalIdOf(from + index) },
          })),
        )
      }
      await sql`vacuum analyze graphile_worker._private_jobs`
    },
    async pollAll() {
      polled = 0
      allPolled = Promise.withResolvers()
      runner = await run({ preset, taskList: { poll }, noHandleSignals: true })
      await allPolled.promise
      // Writes the last completions.
      await runner.stop()
      runner = undefined
    },
    async makeDue() {
      await sql`update graphile_worker._private_jobs set run_at = now() - random() * interval '60 s'`
      await sql`vacuum analyze graphile_worker._private_jobs`
    },
    countWaiting,
    async close() {
      await runner?.stop()
      await utils.release()
      await sql.end({ timeout: 5 })
    },
  }
}
