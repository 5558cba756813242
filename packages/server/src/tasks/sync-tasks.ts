import { isNewer, type SyncAnswer } from '@holdfast/shared'
import type { Sql } from '../database/connect.ts'
import { raiseProgress } from '../hot/raise-progress.ts'
import { type Presenter, withoutUrls } from './present-tasks.ts'
import { type TaskRow, taskColumns } from './task-row.ts'

export type KnownTasks = Record<string, readonly [version: number, progress: number | null]>

export interface SyncInput {
  userId: string
  known?: KnownTasks
  cursor?: string | null
  /** What the hot store says, if it was asked already. */
  hot?: ReadonlyMap<string, number>
}

/** How much of what has already ended a first sync brings along: enough to show what finished while away. */
const RECENT = '24 hours'
const RECENT_LIMIT = 100

/**
 * What a caller does not know yet. With a cursor: what changed since. Without one: all unfinished tasks, and those
 * that ended lately.
 *
 * The cursor is the oldest transaction that was still running when the rows were read, and rows are found by the
 * transaction that wrote them last: a slow transaction that commits after the read is at or above the cursor and
 * comes with the next sync. A time would lose it. What was read already may come twice, which `isNewer` sorts out.
 */
export async function syncTasks(
  sql: Sql,
  { userId, known = {}, cursor = null, ...given }: SyncInput,
  present: Presenter = withoutUrls,
): Promise<SyncAnswer> {
  const ids = Object.keys(known)
  const versions = Object.values(known).map(([version]) => version)
  const progresses = Object.values(known).map(([, progress]) => progress)
  // Progress that is only hot has not touched the row: what is further than the caller knows is looked up by its id.
  const hot = given.hot ?? (await present.hot(userId))
  const risen = [...hot].filter(([id, progress]) => progress > (known[id]?.[1] ?? -1))
  const since = cursor !== null && /^\d{1,19}$/.test(cursor) ? cursor : null

  const rows = await sql<(Partial<TaskRow> & { cursor: string; now: Date; gone: string[] })[]>`
    with read_at as (
      select
        pg_snapshot_xmin(pg_current_snapshot()) as cursor,
        -- A cursor from the future belongs to another cluster: it would hide changes, so it counts as none.
        case when ${since}::text::xid8 <= pg_snapshot_xmax(pg_current_snapshot()) then ${since}::text::xid8 end as since
    ),
    known as (
      select * from unnest(${ids}::uuid[], ${versions}::bigint[], ${progresses}::float8[]) as k (id, version, progress)
    ),
    risen as (
      select * from unnest(${risen.map(([id]) => id)}::uuid[], ${risen.map(([, progress]) => progress)}::int[]) as r (id, progress)
    ),
    wanted as (
      select t.id from holdfast.tasks t, read_at
      where t.user_id = ${userId} and t.changed_xid >= read_at.since
      union
      select t.id from holdfast.tasks t, read_at
      where t.user_id = ${userId} and t.status in ('pending', 'running') and read_at.since is null
      union
      (
        select t.id from holdfast.tasks t, read_at
        where t.user_id = ${userId} and read_at.since is null
          and t.status in ('completed', 'failed', 'cancelled') and t.finished_at > now() - ${RECENT}::interval
        order by t.id desc
        limit ${RECENT_LIMIT}
      )
      union
      select t.id from holdfast.tasks t join known k on k.id = t.id
      where t.user_id = ${userId} and t.version > k.version
      union
      select t.id from holdfast.tasks t join risen r on r.id = t.id
      where t.user_id = ${userId} and t.status = 'running' and coalesce(t.progress, -1) < r.progress
    )
    select
      read_at.cursor::text as cursor, now() as now,
      array(select k.id::text from known k where not exists (
        select from holdfast.tasks t where t.id = k.id and t.user_id = ${userId}
      )) as gone,
      task.*
    from read_at left join lateral (
      select ${taskColumns(sql)} from holdfast.tasks t
      where t.id in (select id from wanted) and (t.id in (select id from risen) or not exists (
        select from known k
        where k.id = t.id and k.version >= t.version and coalesce(k.progress, -1) >= coalesce(t.progress, -1)
      ))
      order by t.id
    ) task on true
  `
  const [first] = rows
  return {
    tasks: await present.tasks(
      rows
        .filter((row): row is typeof row & TaskRow => typeof row.id === 'string')
        .filter((row) => isNewer(raiseProgress(row, hot), toState(known[row.id]))),
      hot,
    ),
    gone: first?.gone ?? [],
    cursor: first?.cursor ?? '0',
    now: (first?.now ?? new Date(0)).toISOString(),
  }
}

function toState(known: KnownTasks[string] | undefined) {
  return known && { version: known[0], progress: known[1] }
}
