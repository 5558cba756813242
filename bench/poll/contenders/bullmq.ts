import { Queue, Worker } from 'bullmq'
import type { OpenContender } from '../contender.ts'
import { queryProvider } from '../http-client.ts'
import { externalIdOf, NEXT_POLL_MS } from '../settings.ts'

const QUEUE = 'polls'
const WORKERS = 4
const CONCURRENCY_EACH = 50
const SEED_BATCH = 5_000

/** BullMQ takes a job that fails back with its backoff and hands out the next one in the same script. */
const NOT_YET = new Error('still generating')
NOT_YET.stack = ''

/**
 * One job per task, delayed again after each poll:
 * - the poll "fails" with a fixed backoff: one round trip to Redis per poll. `moveToDelayed` with `DelayedError` needs
 *   two and was slower when tried; completing the job and adding a new one needs two as well;
 * - no stack traces kept;
 * - ioredis sends together what is asked for in the same turn (`enableAutoPipelining`): tried, faster with it;
 * - four workers of 50 jobs each in the process, since each fetches one after the other. One worker of 100 was as fast.
 */
export const openBullmq: OpenContender = async ({ redisPort, tasks }, pool) => {
  const connection = {
    host: '127.0.0.1',
    port: redisPort,
    maxRetriesPerRequest: null,
    enableAutoPipelining: true,
  }
  const queue = new Queue<{ externalId: string }>(QUEUE, { connection })
  let polled = 0
  let workers: Worker[] = []

  async function allDelayed(): Promise<void> {
    while (polled < tasks || (await queue.getDelayedCount()) < tasks) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  return {
    async seed() {
      await queue.obliterate({ force: true })
      for (let from = 0; from < tasks; from += SEED_BATCH) {
        const count = Math.min(SEED_BATCH, tasks - from)
        await queue.addBulk(
          Array.from({ length: count }, (_, index) => ({
            name: 'poll',
            data: { externalId: externalIdOf(from + index) },
            opts: {
              attempts: 1_000_000,
              backoff: { type: 'fixed', delay: NEXT_POLL_MS },
              stackTraceLimit: 0,
              removeOnComplete: true,
            },
          })),
        )
      }
      workers = Array.from(
        { length: WORKERS },
        () =>
          new Worker<{ externalId: string }>(
            QUEUE,
            async (job) => {
              await queryProvider(pool, job.data.externalId)
              polled++
              throw NOT_YET
            },
            { connection, concurrency: CONCURRENCY_EACH, autorun: false },
          ),
      )
      for (const worker of workers) worker.on('error', (error) => console.error(error))
      await Promise.all(workers.map((worker) => worker.waitUntilReady()))
    },
    async pollAll() {
      polled = 0
      for (const worker of workers) {
        if (worker.isPaused()) worker.resume()
        else worker.run().catch((error) => console.error(error))
      }
      await allDelayed()
    },
    async makeDue() {
      await Promise.all(workers.map((worker) => worker.pause()))
      await queue.promoteJobs()
    },
    countWaiting: () => queue.getDelayedCount(),
    async close() {
      await Promise.all(workers.map((worker) => worker.close(true)))
      await queue.close()
    },
  }
}
