import type { Sql } from '../../database/connect.ts'
import { retryDeadlock } from '../../database/retry-deadlock.ts'
import type { Fence } from '../../engine/claim.ts'

export interface Rescheduled extends Fence {
  taskId: string
  delayMs: number
  /** Whether the poll told us anything. If not, the silence is counted. Null: it was not made, so nothing is. */
  heard: boolean | null
}

/**
 * Sets many due times of polls in one statement and returns how many were refused, because the claim had been taken
 * over meanwhile: the predicate is on the row being written, so PostgreSQL checks it again after waiting for its lock.
 */
export async function reschedulePolls(sql: Sql, batch: Rescheduled[]): Promise<number> {
  // In the order of the key, so that two batches seldom wait for each other in a circle.
  const sorted = batch.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1))
  const written = await retryDeadlock(
    () => sql`
    update holdfast.work w set
      due_at = now() + b.delay * interval '1 ms',
      attempts = case b.heard when 1 then 0 when 0 then least(w.attempts + 1, 30000) else w.attempts end,
      silent_since = case b.heard when 1 then null when 0 then coalesce(w.silent_since, now()) else w.silent_since end
    from unnest(
      ${sorted.map((item) => item.taskId)}::uuid[], ${sorted.map((item) => item.workId)}::bigint[],
      ${sorted.map((item) => item.epoch)}::int[], ${sorted.map((item) => item.delayMs)}::float8[],
      ${sorted.map((item) => (item.heard === null ? null : Number(item.heard)))}::int[]
    ) as b (task_id, id, epoch, delay, heard),
      -- Not a constant: the planner would walk through all polls.
      (select 'poll' as name offset 0) kind
    where w.task_id = b.task_id and w.kind = kind.name and w.part = 0 and w.id = b.id and w.epoch = b.epoch
  `,
  )
  return batch.length - written.count
}
