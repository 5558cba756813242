import type { Sql } from '../../database/connect.ts'
import { takeOver } from '../../engine/claim.ts'
import {
  type BudgetedKind,
  type ClaimOptions,
  type ClaimRow,
  dueWithinBudget,
  toClaims,
} from '../../engine/claim-within-budget.ts'
import type { Claims } from '../../engine/work-kind.ts'
import { markOf } from './unmark-sending.ts'

/** One task to send to its provider. */
export interface ClaimedSend {
  workId: string
  epoch: number
  attempts: number
  maxAttempts: number
  taskId: string
  userId: string
  type: string
  lane: string
  params: Record<string, unknown>
  /** Marked by this very claim: to be sent now, or never. */
  isMarked: boolean
  /** Tells this mark from one that is set later, as text; null if it was not marked. */
  mark: string | null
  /** Set where a create may have left for the provider before this claim. */
  sendingAt: Date | null
  /** How long ago that was, by the database's clock; 0 if it was not. */
  sentMsAgo: number
  /** Why an operator should see it if that create cannot be found: the adapter broke. */
  brokeBecause: string | null
  /** The external id that a callback told, while the reply itself has not been written down. */
  reportedId: string | null
  /** Part of the address that the provider may call back at. */
  callbackSecret: string
  /** PostgreSQL itself was away until a moment ago: answers that could not be written are still held by who got them. */
  justBack: boolean
  traceId: string | null
  lagMs: number
}

const SEND = (sql: Sql): BudgetedKind => ({
  name: sql`'send'`,
  operation: 'create',
  order: sql`w.priority desc, w.turn, w.id`,
})

/**
 * Claims tasks that wait to be sent, and marks those that were never sent as being sent, which is committed before
 * anything leaves. A task so marked is never sent again, by anyone. The claim sets when each comes due again, in case
 * its process dies.
 *
 * @param types those that this server offers; others are not marked
 */
export async function claimSends(
  sql: Sql,
  { types, ...options }: ClaimOptions & { types: readonly string[] },
): Promise<Claims<ClaimedSend>> {
  const rows = await sql<ClaimRow<ClaimedSend>[]>`
    ${dueWithinBudget(sql, SEND(sql), options)},
    claimed as (
      update holdfast.work w set ${takeOver(sql)}, due_at = now() + ${options.leaseMs}::float8 * interval '1 ms'
      from due d where w.ctid = d.at
      returning w.id, w.epoch, w.attempts, w.task_id, w.lane, d.due_at
    ),
    found as materialized (
      select c.*, t.user_id, t.type, t.params, t.max_attempts, t.created_at, j.sending_at, j.last_error, j.trace_id,
        j.reported_id, j.callback_secret
      from claimed c
        cross join lateral (
          select t.user_id, t.type, t.params, t.max_attempts, t.created_at from holdfast.tasks t where t.id = c.task_id limit 1
        ) t
        cross join lateral (
          select j.sending_at, j.last_error, j.trace_id, j.reported_id, j.callback_secret
          from holdfast.provider_jobs j where j.task_id = c.task_id limit 1
        ) j
    ),
    -- Of what was claimed only: a row that changed a moment ago may be due and not be had. What an earlier try said is
    -- forgotten: while the mark stands, last_error says how this one broke.
    marked as (
      update holdfast.provider_jobs j set sending_at = now(), last_error = null from found f
      where j.task_id = f.task_id and j.sending_at is null and j.external_id is null
        and f.type = any(${types as string[]}::text[])
      returning j.task_id, ${markOf(sql)} as mark
    )
    select
      f.id::text as "workId", f.epoch, f.attempts, f.max_attempts as "maxAttempts", f.task_id as "taskId",
      f.user_id as "userId", f.type, f.lane, f.params, m.mark is not null as "isMarked", m.mark, f.sending_at as "sendingAt",
      coalesce(extract(epoch from now() - f.sending_at) * 1000, 0)::float8 as "sentMsAgo",
      case when f.sending_at is not null then f.last_error end as "brokeBecause", f.trace_id as "traceId",
      f.reported_id as "reportedId", f.callback_secret as "callbackSecret",
      pg_postmaster_start_time() > now() - ${options.leaseMs}::float8 * interval '1 ms' as "justBack",
      (extract(epoch from now() - f.due_at) * 1000)::float8 as "lagMs", again.retry_ms as "retryMs"
    from again left join (found f left join marked m on m.task_id = f.task_id) on true
  `
  return toClaims(rows)
}
