import type { AnySql } from '../database/connect.ts'
import { takeOver } from '../engine/claim.ts'
import { endedBy } from './ended-by.ts'
import type { Settlement } from './settle-task.ts'

/** A running task that its provider has ended. */
export interface ProviderEnd {
  taskId: string
  settlement: Settlement
  /** How far it was shown to be, where the row may know less. */
  progress: number | null
}

/** Whether a settlement is the provider's final word: it needs no claim, and nobody has to be stopped. */
export function isProviderEnd(settlement: Settlement): boolean {
  return endedBy(settlement) === 'provider' && settlement.status !== 'cancelled'
}

/**
 * Ends running tasks by what their providers said, many in one statement: status, result files, and the work of copying
 * those in place of the polls. Returns whose each is. Null for one that is not as it mostly is (it has ended already,
 * it was never accepted, somebody holds a row of it, it is the second for its task): `settleInTransaction` looks at
 * that one alone.
 *
 * Locks are taken in the order work → task, by task; nobody is waited for.
 */
export async function settleTogether(
  sql: AnySql,
  ends: readonly ProviderEnd[],
): Promise<({ userId: string } | null)[]> {
  // A webhook has a task polled while it is being polled: both answers may be here, and the first counts.
  const firsts = new Map(ends.toReversed().map((end) => [end.taskId, end]))
  const sorted = [...firsts.values()].toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1))
  const failures = sorted.map(({ settlement }) =>
    settlement.status === 'failed' ? settlement.failure : undefined,
  )
  const files = sorted.flatMap(({ taskId, settlement }) =>
    settlement.status === 'completed'
      ? settlement.outputs.map((output, ordinal) => ({ ...output, taskId, ordinal }))
      : [],
  )
  const ended = await sql<{ taskId: string; userId: string }[]>`
    with b as materialized (
      select * from unnest(
        ${sorted.map(({ taskId }) => taskId)}::uuid[], ${sorted.map(({ settlement }) => settlement.status)}::text[],
        ${sorted.map(({ progress }) => progress)}::int[],
        ${sorted.map(({ settlement }) => usageOf(settlement))}::text[],
        ${failures.map((failure) => failure?.code ?? null)}::text[], ${failures.map((failure) => failure?.message ?? null)}::text[],
        ${failures.map((failure) => (failure ? Number(failure.retryable) : null))}::int[],
        ${sorted.map(({ settlement }) => Number(settlement.status === 'completed' && settlement.mirror === true))}::int[]
      ) as b (task_id, status, progress, usage, code, message, retryable, copied)
    ),
    f as materialized (
      select * from unnest(
        ${files.map(({ taskId }) => taskId)}::uuid[], ${files.map(({ ordinal }) => ordinal)}::int[],
        ${files.map(({ url }) => url)}::text[], ${files.map(({ contentType }) => contentType)}::text[],
        ${files.map(({ urlLifetimeMs }) => urlLifetimeMs)}::float8[]
      ) as f (task_id, ordinal, url, content_type, lifetime)
    ),
    claimed as materialized (
      select b.*, w.polls, w.kind from b cross join lateral (
        select w.polls, w.kind from holdfast.work w where w.task_id = b.task_id and w.kind = 'poll' and w.part = 0
        limit 1 for update skip locked
      ) w
    ),
    held as materialized (
      select c.* from claimed c cross join lateral (
        select from holdfast.tasks t where t.id = c.task_id and t.status = 'running' limit 1 for no key update skip locked
      ) t
    ),
    ended as (
      update holdfast.tasks t set
        status = h.status,
        progress = case when h.status = 'completed' then 100 else greatest(t.progress, h.progress) end,
        usage = h.usage::jsonb,
        failure_code = h.code,
        failure_message = h.message,
        failure_retryable = h.retryable <> 0,
        next_attempt_at = null,
        expires_at = case when h.status = 'completed' then now() + t.keep_ms * interval '1 ms' end,
        poll_count = t.poll_count + h.polls,
        last_polled_at = case when h.polls > 0 then now() else t.last_polled_at end,
        -- This statement may have begun before the one that started the task was committed.
        finished_at = greatest(now(), t.created_at, t.started_at)
      -- Looked up by their keys, whatever the planner believes of running ones. They are locked already.
      from held h where t.id = h.task_id and t.id = any(array(select task_id from held))
      returning t.id, t.user_id, t.keep_ms, t.provider, t.lane, h.copied, h.kind
    ),
    written as (
      insert into holdfast.artifacts (task_id, user_id, ordinal, content_type, source_url, source_expires_at, expires_at)
      select e.id, e.user_id, f.ordinal, f.content_type, f.url, now() + f.lifetime * interval '1 ms',
        now() + e.keep_ms * interval '1 ms'
      from f join ended e on e.id = f.task_id
    ),
    -- The poll of a task with files becomes the copying of its first one, and its epoch goes on rising.
    first_copy as (
      update holdfast.work w set
        kind = 'copy', ${takeOver(sql)}, attempts = 0, polls = 0, silent_since = null, due_at = now(),
        needed_by = now() + f.lifetime * interval '1 ms'
      from f join ended e on e.id = f.task_id and e.copied = 1
      where f.ordinal = 0 and w.task_id = e.id and w.kind = e.kind and w.part = 0
    ),
    other_copies as (
      insert into holdfast.work (task_id, kind, part, provider, lane, needed_by)
      select e.id, 'copy', f.ordinal, e.provider, e.lane, now() + f.lifetime * interval '1 ms'
      from f join ended e on e.id = f.task_id and e.copied = 1 where f.ordinal > 0
    ),
    over as (
      delete from holdfast.work w using ended e
      where w.task_id = e.id and w.kind = e.kind and w.part = 0
        and not (e.copied = 1 and exists (select from f where f.task_id = e.id))
    )
    select id as "taskId", user_id as "userId" from ended
  `
  const users = new Map(ended.map(({ taskId, userId }) => [taskId, userId]))
  return ends.map((end) => {
    const userId = firsts.get(end.taskId) === end ? users.get(end.taskId) : undefined
    return userId === undefined ? null : { userId }
  })
}

function usageOf(settlement: Settlement): string | null {
  return settlement.status === 'completed' && settlement.usage ? JSON.stringify(settlement.usage) : null
}
