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

const CANCEL = (sql: Sql): BudgetedKind => ({ name: sql`'cancel'`, operation: 'query', order: sql`w.due_at` })

export async function claimCancels(sql: Sql, options: ClaimOptions): Promise<Claims<ClaimedCancel>> {
  const rows = await sql<ClaimRow<ClaimedCancel>[]>`
    ${dueWithinBudget(sql, CANCEL(sql), options)},
    claimed as (
    update holdfast.work w set ${takeOver(sql)}, due_at = now() + ${options.leaseMs}::float8 * interval '1 ms'
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
    )
    select claimed.*, again.retry_ms as "retryMs" from again left join claimed on true
  `
  return toClaims(rows)
}
