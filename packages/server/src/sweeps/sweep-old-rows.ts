import { transaction } from '../database/transaction.ts'
import type { SweepContext } from './run-sweeps.ts'

/** How long the row of a task that has ended is kept. Never shorter than its files. */
export interface Retention {
  /** Completed and cancelled ones. @default 7 days */
  finishedMs: number
  /** Failed ones: they are asked about later. @default 30 days */
  failedMs: number
}

const DAY_MS = 24 * 60 * 60_000
export const defaultRetention: Retention = { finishedMs: 7 * DAY_MS, failedMs: 30 * DAY_MS }

const MOST = 1_000

/**
 * Removes the rows of tasks that ended long ago (O6), and adds them to the statistics in the same transaction.
 * Messages stay, and with them the rows of the files they show; the ledger stays too.
 */
export async function sweepOldRows({ sql, retention = defaultRetention }: SweepContext): Promise<number> {
  return transaction(sql, async (tx) => {
    const old = await tx<{ id: string }[]>`
      select t.id from holdfast.tasks t
      where t.finished_at <= now() - ${Math.min(retention.finishedMs, retention.failedMs)}::float8 * interval '1 ms'
        and t.finished_at <= now() - (case when t.status = 'failed' then ${retention.failedMs}::float8 else ${retention.finishedMs}::float8 end) * interval '1 ms'
        and not exists (select from holdfast.artifacts a where a.task_id = t.id and a.state in ('remote', 'stored'))
        -- Whoever retries a dead letter needs to know what was asked for; a cancel may still be on its way.
        and not exists (select from holdfast.dead_letters d where d.task_id = t.id and d.resolved_at is null)
        and not exists (select from holdfast.work w where w.task_id = t.id)
      order by t.finished_at limit ${MOST}
      for update skip locked
    `
    const ids = old.map(({ id }) => id)
    if (ids.length === 0) return 0
    await tx`delete from holdfast.artifacts where task_id = any(${ids}::uuid[]) and message_id is null`
    await tx`
      with gone as (delete from holdfast.tasks where id = any(${ids}::uuid[]) returning *)
      insert into holdfast.removed_tasks_by_day as r (day, type, provider, lane, status, failure_code, tasks, started, run_ms)
      select (finished_at at time zone 'UTC')::date, type, provider, lane, status, coalesce(failure_code, ''),
        count(*), count(started_at), coalesce(sum((extract(epoch from finished_at - started_at) * 1000)::bigint), 0)
      from gone group by 1, 2, 3, 4, 5, 6
      on conflict on constraint removed_tasks_are_added_up do update
        set tasks = r.tasks + excluded.tasks, started = r.started + excluded.started, run_ms = r.run_ms + excluded.run_ms
    `
    return ids.length
  })
}
