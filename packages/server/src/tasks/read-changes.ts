import type { PendingQuery, Row } from 'postgres'
import type { Sql } from '../database/connect.ts'
import {
  changedConversations,
  conversationsColumn,
  firstConversations,
} from '../plugins/conversations/read-conversations.ts'
import { changedSince, currentCursor, currentRun, type SyncCursor } from './sync-cursor.ts'
import type { KnownTasks } from './sync-tasks.ts'
import { taskColumns } from './task-row.ts'

type Fragment = PendingQuery<Row[]>

/** How much of what has already ended a first sync brings along: enough to show what finished while away. */
const RECENT = '24 hours'
const RECENT_LIMIT = 100
/** How much a caller is told whose cursor is of another run, of all that ended since. */
const MISSED_LIMIT = 1_000

/** What has changed, for a caller who has asked before, or says what he knows. */
export interface Question {
  userId: string
  /** The cursor of an earlier answer. */
  since: SyncCursor | null
  known: KnownTasks
  /** Tasks whose progress is further than the caller knows, by what the hot store says. */
  risen: readonly (readonly [id: string, progress: number])[]
  /** Whether conversations are told of as well. */
  conversations: boolean
}

/** For a caller who knows nothing. Not in the order of their ids. Conversations are in the first row. */
export function readFirst(sql: Sql, userId: string, conversations: boolean) {
  return sql`
    select ${currentCursor(sql)} as cursor, now() as now, '{}'::text[] as gone, true as "goesOn",
      ${conversationsColumn(sql, userId, conversations && firstConversations(sql, userId))}, task.*
    from (values (1)) once left join lateral (${unfinishedAndRecent(sql, userId, taskColumns(sql, 'listed'), recently(sql))}) task on true
  `
}

/**
 * Finds out which tasks are wanted before it reads them: `read_at` has the new cursor, `wanted` the ids of the tasks to
 * send (some twice), and `gone` the known ids that are nobody's. If the cursor turns out to be of another run, `goesOn` is
 * false: then the conversations of a first answer are still to be read. Conversations are in the first row.
 *
 * What is not asked for is not in the statement, since planning it would take longer than executing the rest. And ids
 * are looked up by arrays, set against each other as sets, and one by one only where they differ: with a join,
 * PostgreSQL may read all that the user ever had, or compare each with each.
 */
export function readChanges(sql: Sql, { userId, since, known, risen, conversations }: Question) {
  const ids = Object.keys(known)
  const anyKnown = ids.length > 0
  const recent = since === null ? recently(sql) : missed(sql, since)
  const first = unfinishedAndRecent(
    sql,
    userId,
    sql`t.id`,
    recent,
    sql`and not (select goes_on from read_at)`,
  )
  // By the cursor as it was sent, which the planner can look up, so that it expects few.
  const xid = sql`${since?.xid ?? null}::text::xid8`
  const goesOn = sql`and (select goes_on from read_at)`
  // Unfinished ones are few, and are looked at; of those that have ended an index knows which changed.
  const changed = sql`
    select t.id from holdfast.tasks t
    where t.user_id = ${userId} and t.status in ('pending', 'running') and ${changedSince(sql, xid)} ${goesOn}
    union all
    select t.id from holdfast.tasks t
    where t.user_id = ${userId} and t.finished_at is not null and ${changedSince(sql, xid)} ${goesOn}
  `
  const told =
    since === null ? firstConversations(sql, userId) : changedConversations(sql, userId, xid, goesOn)
  const hot = sql`
    select r.id
    from unnest(${risen.map(([id]) => id)}::uuid[], ${risen.map(([, progress]) => progress)}::int[]) as r (id, progress)
    cross join lateral (
      select from holdfast.tasks t
      where t.id = r.id and t.user_id = ${userId} and t.status = 'running' and coalesce(t.progress, -1) < r.progress
      limit 1
    ) t
  `
  return sql`
    with read_at as materialized (
      select
        ${currentCursor(sql)} as cursor,
        -- A cursor of another run, or from the future, would hide changes.
        ${
          since === null
            ? sql`false`
            : sql`${since.run}::text = ${currentRun(sql)}
              and ${since.xid}::text::xid8 <= pg_snapshot_xmax(pg_current_snapshot())`
        } as goes_on
    ),
    ${anyKnown ? sql`differing as materialized (${differing(sql, userId, known)}),` : sql``}
    gone as materialized (${anyKnown ? sql`select id from differing where is_gone` : sql`select null::uuid as id where false`}),
    wanted as materialized (
      (
        ${first} ${since === null ? sql`` : sql`union all ${changed}`}
        ${anyKnown ? sql`except select id from unnest(${ids}::uuid[]) as k (id)` : sql``}
      )
      ${anyKnown ? sql`union all select id from differing where is_stale` : sql``}
      ${risen.length > 0 ? sql`union all ${hot}` : sql``}
    )
    select read_at.cursor as cursor, now() as now, array(select id::text from gone) as gone,
      ${since === null || !conversations ? sql`true` : sql`read_at.goes_on`} as "goesOn",
      ${conversationsColumn(sql, userId, conversations && told)}, task.*
    from read_at left join lateral (
      select ${taskColumns(sql, 'listed')} from holdfast.tasks t where t.id = any(array(select id from wanted))
    ) task on true
  `
}

interface Recent {
  /** Tasks that ended after this are told. */
  after: Fragment
  limit: number
}

function recently(sql: Sql): Recent {
  return { after: sql`now() - ${RECENT}::interval`, limit: RECENT_LIMIT }
}

/** From the hour before the cursor on, since a slow transaction ends tasks with the time at which it began. */
function missed(sql: Sql, { hour }: SyncCursor): Recent {
  const since = sql`to_timestamp((${hour}::text::int - 1) * 3600.0)`
  return { after: sql`least(now() - ${RECENT}::interval, ${since})`, limit: MISSED_LIMIT }
}

/** What a first answer brings: all that is unfinished, and what ended lately. */
function unfinishedAndRecent(
  sql: Sql,
  userId: string,
  columns: Fragment,
  recent: Recent,
  condition: Fragment = sql``,
) {
  return sql`
    select ${columns} from holdfast.tasks t
    where t.user_id = ${userId} and t.status in ('pending', 'running') ${condition}
    union all
    (
      select ${columns} from holdfast.tasks t
      where t.user_id = ${userId} and t.finished_at > ${recent.after} ${condition}
      order by t.finished_at desc
      limit ${recent.limit}
    )
  `
}

/** Known tasks that are not as they are known: older, gone, or newer than what is stored. */
function differing(sql: Sql, userId: string, known: KnownTasks) {
  const ids = Object.keys(known)
  const versions = Object.values(known).map(([version]) => version)
  // Without nulls, so that a progress can be compared.
  const progresses = Object.values(known).map(([, progress]) => progress ?? -1)
  return sql`
    select k.id, t.version is null as is_gone,
      t.version > k.version or (t.version = k.version and coalesce(t.progress, -1) > k.progress) as is_stale
    from (
      select k.id, k.version, k.progress
      from unnest(${ids}::uuid[], ${versions}::bigint[], ${progresses}::float8[]) as k (id, version, progress)
      except
      select t.id, t.version, coalesce(t.progress, -1) from holdfast.tasks t
      where t.user_id = ${userId} and t.id = any(${ids}::uuid[])
    ) k
    left join lateral (
      select t.version, t.progress from holdfast.tasks t where t.id = k.id and t.user_id = ${userId} limit 1
    ) t on true
  `
}
