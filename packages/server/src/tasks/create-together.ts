import type { Sql } from '../database/connect.ts'
import { retryDeadlock } from '../database/retry-deadlock.ts'
import type { Submission } from '../plugins/plugin.ts'
import type { Room } from './require-room.ts'
import { shownParams } from './shown-params.ts'
import { type TaskRow, taskColumns } from './task-row.ts'
import { lowestTurn, ownWaiting, type Queue } from './turn-of.ts'

/** A task that is asked for and needs nothing but its rows. */
export interface PlainCreate {
  submission: Submission
  traceId: string
  key: { key: string; bodyHash: string } | null
  room: Room | null
  maxAttempts: number
  deadlineMs: number | null
  keepMs: number
  plan: string | null
}

/**
 * Makes tasks, many in one statement: task, provider job, the work of sending it, idempotency key, and the limits of
 * their users. Null for one that is not as it mostly is (its key was used before, its user has no room left, its
 * conversation is not there, another replica makes a task of the same user right now): `createTask` looks at that one
 * alone, and tells the caller why.
 *
 * No two of them may have the same key.
 */
export async function createTogether(sql: Sql, creates: readonly PlainCreate[]): Promise<(TaskRow | null)[]> {
  const of = <T>(pick: (create: PlainCreate) => T): T[] => creates.map(pick)
  const json = (value: object | null) => (value === null ? null : JSON.stringify(value))
  const made = await retryDeadlock(
    () => sql<(TaskRow & { n: number })[]>`
      with asked as materialized (
        select a.*, holdfast.new_id() as id from unnest(
          ${of(({ submission }) => submission.userId)}::text[], ${of(({ submission }) => submission.type)}::text[],
          ${of(({ submission }) => submission.provider)}::text[],
          ${of(({ submission }) => json(submission.params))}::text[],
          ${of(({ submission }) => json(shownParams(submission.params, submission.metadata)))}::text[],
          ${of(({ submission }) => json(submission.metadata))}::text[],
          ${of(({ submission }) => submission.conversationId)}::uuid[],
          ${of(({ submission }) => submission.placeholderId)}::text[],
          ${of(({ submission }) => submission.priority)}::int[], ${of(({ submission }) => submission.lane)}::text[],
          ${of(({ maxAttempts }) => maxAttempts)}::int[], ${of(({ deadlineMs }) => deadlineMs)}::int[],
          ${of(({ keepMs }) => keepMs)}::bigint[], ${of(({ plan }) => plan)}::text[],
          ${of(({ traceId }) => traceId)}::text[], ${of(({ key }) => key?.key ?? null)}::text[],
          ${of(({ key }) => key?.bodyHash ?? null)}::text[], ${of(({ room }) => room?.perMinute ?? null)}::int[],
          ${of(({ room }) => room?.unfinished ?? null)}::int[]
        ) with ordinality as a (
          user_id, type, provider, params, shown_params, metadata, conversation_id, placeholder_id, priority, lane,
          max_attempts, deadline_ms, keep_ms, plan, trace_id, key, body_hash, per_minute, unfinished, n
        )
      ),
      fresh as materialized (
        select a.*, row_number() over (partition by a.user_id order by a.n) as nth,
          row_number() over (partition by a.user_id, a.provider, a.lane, a.priority order by a.n) - 1 as behind
        from asked a
        where not exists (select from holdfast.idempotency_keys k where k.user_id = a.user_id and k.key = a.key)
          and (a.conversation_id is null or exists (
            select from holdfast.conversations c where c.id = a.conversation_id and c.user_id = a.user_id
          ))
      ),
      users as materialized (
        select user_id, max(per_minute) as per_minute, max(unfinished) as unfinished
        from fresh where per_minute is not null group by user_id order by user_id
      ),
      counted as materialized (
        select u.user_id, c.recent, c.unfinished
        from users u cross join lateral holdfast.count_own_tasks(u.user_id, u.per_minute, u.unfinished) c
      ),
      fitting as materialized (
        select r.* from fresh r left join counted c on c.user_id = r.user_id
        where r.per_minute is null or (c.recent + r.nth <= r.per_minute and c.unfinished + r.nth <= r.unfinished)
      ),
      queues as materialized (
        select q.*, ${lowestTurn(sql, queueOf(sql, 'q'))} as lowest
        from (select distinct provider, lane, priority from fitting) q
      ),
      keys as (
        insert into holdfast.idempotency_keys (user_id, key, body_hash, task_id)
        select user_id, key, body_hash, id from fitting where key is not null
        -- Two statements with the same keys wait for each other in one order, and not in a circle.
        order by user_id, key
        on conflict do nothing
        returning task_id
      ),
      made as (
        insert into holdfast.tasks (
          id, user_id, type, provider, params, shown_params, metadata, conversation_id, placeholder_id, priority, lane,
          max_attempts, timeout_ms, keep_ms, plan
        )
        select f.id, f.user_id, f.type, f.provider, f.params::jsonb, f.shown_params::jsonb, f.metadata::jsonb,
          f.conversation_id, f.placeholder_id, f.priority, f.lane, f.max_attempts, f.deadline_ms,
          f.keep_ms, f.plan
        from fitting f where f.key is null or f.id in (select task_id from keys)
        returning *
      ),
      jobs as (
        insert into holdfast.provider_jobs (task_id, provider, trace_id)
        select m.id, m.provider, f.trace_id from made m join fitting f on f.id = m.id
      ),
      work as (
        insert into holdfast.work (task_id, kind, provider, lane, priority, turn)
        select m.id, 'send', m.provider, m.lane, m.priority,
          q.lowest + ${ownWaiting(sql, queueOf(sql, 'm'), sql`m.user_id`)} + f.behind
        from made m join fitting f on f.id = m.id
          join queues q on q.provider = m.provider and q.lane = m.lane and q.priority = m.priority
      )
      select f.n::int, ${taskColumns(sql, 'whole')} from made t join fitting f on f.id = t.id
    `,
  )
  const rows = new Map(made.map((row) => [row.n - 1, row]))
  return creates.map((_, index) => rows.get(index) ?? null)
}

/** The queue of a row, by the name that it has in the statement. */
function queueOf(sql: Sql, row: 'm' | 'q'): Queue {
  const of = (column: string) => sql`${sql(row)}.${sql(column)}`
  return { provider: of('provider'), lane: of('lane'), priority: of('priority') }
}
