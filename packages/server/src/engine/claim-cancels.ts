import type { Sql } from '../database/connect.ts'
import { type ClaimOptions, dueWithinBudget } from './claim.ts'

/** One task that nobody wants any more, to be stopped at its provider. */
export interface ClaimedCancel {
  workId: string
  epoch: number
  attempts: number
  maxAttempts: number
  taskId: string
  userId: string
  lane: string
  externalId: string | null
  traceId: string | null
  lagMs: number
}

export function claimCancels(sql: Sql, options: ClaimOptions): Promise<ClaimedCancel[]> {
  return sql<ClaimedCancel[]>`
    ${dueWithinBudget(sql, 'cancel', options)}
    update holdfast.work w set epoch = w.epoch + 1, due_at = now() + ${options.leaseMs}::float8 * interval '1 ms'
    from due d
      cross join lateral (select t.user_id, t.max_attempts from holdfast.tasks t where t.id = d.task_id limit 1) t
      cross join lateral (
        select j.external_id, j.trace_id from holdfast.provider_jobs j where j.task_id = d.task_id limit 1
      ) j
    where w.ctid = d.at
    returning
      w.id::text as "workId", w.epoch, w.attempts, t.max_attempts as "maxAttempts", w.task_id as "taskId",
      t.user_id as "userId", w.lane, j.external_id as "externalId", j.trace_id as "traceId",
      (extract(epoch from now() - d.due_at) * 1000)::float8 as "lagMs"
  `
}
