import type { Sql } from '../../database/connect.ts'
import { takeOver } from '../../engine/claim.ts'

/** One task with something to tell to one endpoint. */
export interface ClaimedDelivery {
  workId: string
  epoch: number
  /** How often in a row the endpoint did not take it. */
  attempts: number
  taskId: string
  userId: string
  /** Of the request that asked for the task. */
  traceId: string | null
  part: number
  /** Rises with everything that is noted for it. */
  news: number
  endpoint: string
  lane: string
  lagMs: number
}

/** Claims what is to be told. All replicas do so side by side; the epoch tells who of them holds a task's. */
export function claimDeliveries(
  sql: Sql,
  { endpoints, limit, leaseMs }: { endpoints: readonly string[]; limit: number; leaseMs: number },
): Promise<ClaimedDelivery[]> {
  return sql<ClaimedDelivery[]>`
    with due as materialized (
      select d.at, d.task_id, d.due_at from unnest(${endpoints as string[]}::text[]) e (name) cross join lateral (
        select w.ctid as at, w.task_id, w.due_at from holdfast.work w
        where w.kind = 'deliver' and w.provider = e.name and w.due_at <= now()
        order by w.due_at limit ${limit} for update skip locked
      ) d limit ${limit}
    )
    update holdfast.work w set ${takeOver(sql)}, due_at = now() + ${leaseMs}::float8 * interval '1 ms'
    from due d
      cross join lateral (select t.user_id from holdfast.tasks t where t.id = d.task_id limit 1) t
      left join lateral (
        select j.trace_id from holdfast.provider_jobs j where j.task_id = d.task_id limit 1
      ) j on true
    where w.ctid = d.at
    returning w.id::text as "workId", w.epoch, w.attempts, w.task_id as "taskId", t.user_id as "userId", j.trace_id as "traceId", w.part, w.news,
      w.provider as endpoint, w.lane, (extract(epoch from now() - d.due_at) * 1000)::float8 as "lagMs"
  `
}
