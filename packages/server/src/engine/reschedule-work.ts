import type { Sql } from '../database/connect.ts'
import type { Fence } from '../tasks/settle-task.ts'

export interface Rescheduled extends Fence {
  delayMs: number
}

/**
 * Sets many due times in one statement. Claims that were taken over meanwhile are left alone: the predicate is on
 * the row being written, so PostgreSQL checks it again after waiting for that row's lock.
 */
export async function rescheduleWork(sql: Sql, batch: Rescheduled[]): Promise<void> {
  // In the order of ids, so that two batches never wait for each other in a circle.
  const sorted = batch.toSorted((a, b) => Number(BigInt(a.workId) - BigInt(b.workId)))
  await sql`
    update holdfast.work w set due_at = now() + b.delay * interval '1 ms'
    from unnest(
      ${sorted.map((item) => item.workId)}::bigint[], ${sorted.map((item) => item.epoch)}::int[], ${sorted.map((item) => item.delayMs)}::float8[]
    ) as b (id, epoch, delay)
    where w.id = b.id and w.epoch = b.epoch
  `
}
