import type { TaskStatus } from '@holdfast/shared'
import { LANES } from '@holdfast/shared'
import type { Sql } from '../database/connect.ts'

export type WorkKind = 'submit' | 'poll' | 'cancel'

/** One claimed step, with what its runner needs to know of the task. */
export interface ClaimedWork {
  workId: string
  epoch: number
  kind: WorkKind
  attempts: number
  polls: number
  taskId: string
  userId: string
  type: string
  provider: string
  status: TaskStatus
  progress: number | null
  params: Record<string, unknown>
  maxAttempts: number
  externalId: string | null
  /** Set once a create may have left for the provider. */
  sendingAt: Date | null
  traceId: string | null
  /** Since acceptance, by the database's clock. */
  ageMs: number
  /** Past the deadline by this much; negative before it, null while there is none. */
  overdueMs: number | null
}

/**
 * Claims what is due, oldest first, a share from every lane. The claim itself already sets the next due time: a
 * process that dies while holding one needs no clean-up, the work just comes due again. That time is never shorter
 * than a call may take, or a slow provider's every answer would find its claim taken over.
 */
export async function claimWork(
  sql: Sql,
  {
    kinds,
    providers,
    limit,
    leaseMs,
  }: { kinds: WorkKind[]; providers: string[]; limit: number; leaseMs: number },
): Promise<ClaimedWork[]> {
  return sql<ClaimedWork[]>`
    with due as materialized (
      select w.id
      from unnest(${kinds}::text[]) as k (kind)
        cross join unnest(${providers}::text[]) as p (provider)
        cross join unnest(${[...LANES]}::text[]) as l (lane)
        cross join lateral (
          select id from holdfast.work
          where kind = k.kind and provider = p.provider and lane = l.lane and due_at <= now()
          order by due_at limit ${limit} for update skip locked
        ) w
      limit ${limit}
    ),
    claimed as (
      update holdfast.work w set
        epoch = w.epoch + 1,
        due_at = now() + ${leaseMs} * interval '1 ms',
        polls = w.polls + (w.kind = 'poll')::int
      where w.id = any(array(select id from due))
      returning w.id, w.epoch, w.kind, w.attempts, w.polls, w.task_id
    )
    select
      c.id::text as "workId", c.epoch, c.kind, c.attempts, c.polls,
      t.id as "taskId", t.user_id as "userId", t.type, t.provider, t.status, t.progress, t.params, t.max_attempts as "maxAttempts",
      j.external_id as "externalId", j.sending_at as "sendingAt", j.trace_id as "traceId",
      coalesce(extract(epoch from now() - j.accepted_at) * 1000, 0)::float8 as "ageMs",
      (extract(epoch from now() - t.deadline_at) * 1000)::float8 as "overdueMs"
    from claimed c
      join holdfast.tasks t on t.id = c.task_id
      join holdfast.provider_jobs j on j.task_id = c.task_id
  `
}
