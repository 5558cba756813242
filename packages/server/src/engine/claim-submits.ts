import type { Sql } from '../database/connect.ts'
import { type ClaimOptions, dueWithinBudget } from './claim.ts'

/** One task to send to its provider. */
export interface ClaimedSubmit {
  workId: string
  epoch: number
  attempts: number
  maxAttempts: number
  taskId: string
  userId: string
  type: string
  lane: string
  params: Record<string, unknown>
  /** Set once a create may have left for the provider. */
  sendingAt: Date | null
  /** How long ago that was, by the database's clock; 0 if it was not. */
  sentMsAgo: number
  /** The external id that a callback told, while the reply itself has not been written down. */
  reportedId: string | null
  /** Part of the address that the provider may call back at. */
  callbackSecret: string
  /** PostgreSQL itself was away until a moment ago: answers that could not be written are still held by who got them. */
  justBack: boolean
  traceId: string | null
  lagMs: number
}

/** Claims tasks that wait to be sent. The claim sets when each comes due again, in case its process dies. */
export function claimSubmits(sql: Sql, options: ClaimOptions): Promise<ClaimedSubmit[]> {
  return sql<ClaimedSubmit[]>`
    ${dueWithinBudget(sql, 'submit', options)}
    update holdfast.work w set epoch = w.epoch + 1, due_at = now() + ${options.leaseMs}::float8 * interval '1 ms'
    from due d
      cross join lateral (
        select t.user_id, t.type, t.params, t.max_attempts, t.created_at from holdfast.tasks t where t.id = d.task_id limit 1
      ) t
      cross join lateral (
        select j.sending_at, j.trace_id, j.reported_id, j.callback_secret from holdfast.provider_jobs j where j.task_id = d.task_id limit 1
      ) j
    where w.ctid = d.at
    returning
      w.id::text as "workId", w.epoch, w.attempts, t.max_attempts as "maxAttempts", w.task_id as "taskId",
      t.user_id as "userId", t.type, w.lane, t.params, j.sending_at as "sendingAt", j.trace_id as "traceId",
      coalesce(extract(epoch from now() - j.sending_at) * 1000, 0)::float8 as "sentMsAgo",
      j.reported_id as "reportedId", j.callback_secret as "callbackSecret",
      pg_postmaster_start_time() > now() - ${options.leaseMs}::float8 * interval '1 ms' as "justBack",
      -- The due time of a first try is set back by its priority; it was not late before it existed.
      (extract(epoch from now() - greatest(d.due_at, t.created_at)) * 1000)::float8 as "lagMs"
  `
}
