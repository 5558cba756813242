import type { Sql } from '../../database/connect.ts'
import { retryDeadlock } from '../../database/retry-deadlock.ts'
import { takeOver } from '../../engine/claim.ts'
import type { Acceptance } from './accept-task.ts'

/**
 * Writes down what providers have accepted, many in one statement: each external id, the start of its task, and its
 * first poll in place of the step that sent it. Returns whose each is. Null for one that is not as it mostly is (its
 * task has ended meanwhile, it was written before, somebody holds a row of it): `acceptTask` looks at that one alone.
 *
 * Locks are taken in the order work → task, by task; nobody is waited for.
 */
export async function acceptTogether(
  sql: Sql,
  accepted: readonly Acceptance[],
): Promise<({ userId: string } | null)[]> {
  const sorted = accepted.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1))
  const started = await retryDeadlock(
    () => sql<{ taskId: string; userId: string }[]>`
      with b as materialized (
        select * from unnest(
          ${sorted.map((item) => item.taskId)}::uuid[], ${sorted.map((item) => item.externalId)}::text[],
          ${sorted.map((item) => item.deadlineMs)}::float8[], ${sorted.map((item) => item.expectedMs)}::float8[],
          ${sorted.map((item) => item.firstPollMs)}::float8[]
        ) as b (task_id, external_id, deadline_ms, expected_ms, first_poll_ms)
      ),
      claimed as materialized (
        select b.*, w.kind from b cross join lateral (
          select w.kind from holdfast.work w where w.task_id = b.task_id and w.kind = 'send' and w.part = 0
          limit 1 for update skip locked
        ) w
      ),
      held as materialized (
        select c.* from claimed c cross join lateral (
          select from holdfast.tasks t where t.id = c.task_id and t.status = 'pending' limit 1 for no key update skip locked
        ) t
      ),
      job as (
        update holdfast.provider_jobs j set external_id = h.external_id, accepted_at = now()
        from held h
        where j.task_id = h.task_id and j.task_id = any(array(select task_id from held)) and j.external_id is null
        returning j.task_id
      ),
      started as (
        update holdfast.tasks t set
          status = 'running',
          attempts = least(t.attempts + 1, 32767),
          last_error = null,
          next_attempt_at = null,
          started_at = greatest(now(), t.created_at),
          deadline_at = greatest(now(), t.created_at) + coalesce(t.timeout_ms, h.deadline_ms) * interval '1 ms',
          estimated_at = greatest(now(), t.created_at) + h.expected_ms * interval '1 ms'
        from held h join job on job.task_id = h.task_id
        -- Looked up by their keys, whatever the planner believes of pending ones. They are locked already.
        where t.id = h.task_id and t.id = any(array(select task_id from held))
        returning t.id, t.user_id, h.first_poll_ms, h.kind
      ),
      polled as (
        -- The same row: its epoch goes on rising, so nobody who held the step before can write to this one.
        update holdfast.work w set
          kind = 'poll', ${takeOver(sql)}, attempts = 0, due_at = now() + s.first_poll_ms * interval '1 ms'
        from started s where w.task_id = s.id and w.kind = s.kind and w.part = 0
      )
      select id as "taskId", user_id as "userId" from started
    `,
  )
  const users = new Map(started.map(({ taskId, userId }) => [taskId, userId]))
  return accepted.map(({ taskId }) => {
    const userId = users.get(taskId)
    return userId === undefined ? null : { userId }
  })
}
