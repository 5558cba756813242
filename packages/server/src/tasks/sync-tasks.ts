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

/** Others may write to the hot store what is no task; PostgreSQL would refuse the whole question. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

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
  // Without nulls an array is read at any place at once.
  const progresses = Object.values(known).map(([, progress]) => progress ?? -1)
  // Progress that is only hot has not touched the row: what is further than the caller knows is looked up by its id.
  const hot = given.hot ?? (await present.hot(userId))
  const risen = [...hot].filter(([id, progress]) => progress > (known[id]?.[1] ?? -1) && UUID.test(id))
  const since = cursor !== null && /^\d{1,19}$/.test(cursor) ? cursor : null

  // Looked up by arrays of ids, set against each other as sets, and one by one where they differ: joined, PostgreSQL
  // may prefer to read all that the user ever had, or to compare each with each.
  const rows = await sql<(Partial<TaskRow> & { cursor: string; now: Date; gone: string[] })[]>`
    with read_at as materialized (
      select
        pg_snapshot_xmin(pg_current_snapshot()) as cursor,
        -- A cursor from the future belongs to another cluster: it would hide changes, so it counts as none.
        coalesce(${since}::text::xid8 <= pg_snapshot_xmax(pg_current_snapshot()), false) as goes_on
    ),
    differing as materialized (
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
    ),
    wanted as materialized (
      (
        -- The cursor as it is, which the planner can look up, so that it expects few.
        select t.id from holdfast.tasks t
        where t.user_id = ${userId} and t.changed_xid >= ${since}::text::xid8 and (select goes_on from read_at)
        union all
        select t.id from holdfast.tasks t
        where t.user_id = ${userId} and t.status in ('pending', 'running') and not (select goes_on from read_at)
        union all
        (
          select t.id from holdfast.tasks t
          where t.user_id = ${userId} and t.finished_at > now() - ${RECENT}::interval and not (select goes_on from read_at)
          order by t.finished_at desc
          limit ${RECENT_LIMIT}
        )
        except
        select id from unnest(${ids}::uuid[]) as k (id)
      )
      -- Some may be named twice: they are looked up once.
      union all
      select id from differing where is_stale
      union all
      select r.id from unnest(${risen.map(([id]) => id)}::uuid[], ${risen.map(([, progress]) => progress)}::int[]) as r (id, progress)
      cross join lateral (
        select from holdfast.tasks t
        where t.id = r.id and t.user_id = ${userId} and t.status = 'running' and coalesce(t.progress, -1) < r.progress
        limit 1
      ) t
    )
    select read_at.cursor::text as cursor, now() as now, array(select id::text from differing where is_gone) as gone, task.*
    from read_at left join lateral (
      select ${taskColumns(sql)} from holdfast.tasks t where t.id = any(array(select id from wanted)) order by t.id
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
