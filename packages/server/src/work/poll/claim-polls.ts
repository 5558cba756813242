import type { Sql } from '../../database/connect.ts'
import { takeRows } from '../../database/take-rows.ts'
import { takeOver } from '../../engine/claim.ts'
import {
  type BudgetedKind,
  type ClaimOptions,
  type ClaimRow,
  dueWithinBudget,
  toClaims,
} from '../../engine/claim-within-budget.ts'
import type { Claims } from '../../engine/work-kind.ts'

/** One poll to make, with what is needed to make it and to judge its answer. */
export interface ClaimedPoll {
  workId: string
  epoch: number
  attempts: number
  polls: number
  taskId: string
  userId: string
  type: string
  lane: string
  progress: number | null
  queuePosition: number | null
  externalId: string
  /** What was put aside for it when it was submitted. */
  creditsHeld: number
  conversationId: string | null
  traceId: string | null
  /** Since acceptance, by the database's clock. */
  ageMs: number
  /** Past the deadline by this much; negative before it. */
  overdueMs: number
  /** How late the poll is. */
  lagMs: number
  /** What the plan says until the next poll. The claim has already set it, unless it is shorter than the lease. */
  plannedMs: number
  /** Whether earlier polls told nothing. */
  silent: boolean
}

const POLL = (sql: Sql): BudgetedKind => ({ name: sql`'poll'`, operation: 'query', order: sql`w.due_at` })

/**
 * Claims due polls and sets the next due time of each by the polling plan of its type and its age, in one statement:
 * a poll that finds nothing new costs no second write, and one whose process dies just comes due again. The next time
 * is never sooner than a call may take, or a slow provider's every answer would find its claim taken over.
 *
 * The oldest are claimed first, but looked up and written in the order of their key: neighbours in three indexes, which
 * saves PostgreSQL a seventh of its time. That is also the order in which they come back.
 *
 * The luck for the jitter is drawn beside the row, not in the lateral: PostgreSQL may remember what a lateral gave for
 * the same age and type, and did, so that tasks accepted together stayed together.
 *
 * Times are rounded up to tenths of a second, so that many tasks share one: an index keeps a shared key once, and that of
 * due times is a fraction of the size.
 */
export async function claimPolls(sql: Sql, options: ClaimOptions): Promise<Claims<ClaimedPoll>> {
  const rows = await sql<ClaimRow<ClaimedPoll>[]>`
    ${dueWithinBudget(sql, POLL(sql), options)},
    plans as materialized (
      select p.type, p.ages_ms, p.intervals_ms, 1 + p.jitter_from as least, p.jitter_to - p.jitter_from as jitter
      from holdfast.poll_plans p where p.provider = ${options.provider}
    ),
    claimed as (
    update holdfast.work w set
      ${takeOver(sql)},
      polls = w.polls + 1,
      due_at = date_bin(
        '100 ms', now() + (100 + greatest(${options.leaseMs}::float8, p.planned_ms)) * interval '1 ms', timestamptz 'epoch'
      )
    from (select *, random() as luck from due order by task_id) d
      cross join lateral (
        select t.user_id, t.type, t.progress, t.queue_position, t.credits_held, t.conversation_id, date_part('epoch', now() - t.deadline_at) * 1000 as overdue_ms
        from holdfast.tasks t where t.id = d.task_id limit 1
      ) t
      cross join lateral (
        select j.external_id, j.trace_id, date_part('epoch', now() - j.accepted_at) * 1000 as age_ms
        from holdfast.provider_jobs j where j.task_id = d.task_id and j.external_id is not null limit 1
      ) j
      cross join lateral (
        select coalesce((
          select p.intervals_ms[width_bucket(greatest(0, j.age_ms), p.ages_ms)] * (p.least + d.luck * p.jitter)
          from plans p where p.type = t.type
        ), 30000) as planned_ms
      ) p
    where w.ctid = d.at
    returning
      w.id::text as "workId", w.epoch, w.attempts, w.polls, w.task_id as "taskId",
      t.user_id as "userId", t.type, w.lane, t.progress, t.queue_position as "queuePosition",
      t.credits_held::float8 as "creditsHeld", t.conversation_id as "conversationId", j.external_id as "externalId", j.trace_id as "traceId",
      j.age_ms as "ageMs", t.overdue_ms as "overdueMs",
      date_part('epoch', now() - d.due_at) * 1000 as "lagMs", p.planned_ms as "plannedMs",
      w.silent_since is not null as silent
    )
    select claimed.*, again.retry_ms as "retryMs" from again left join claimed on true
  `
  return toClaims(takeRows(rows))
}
