import type { Sql } from '../database/connect.ts'

export interface WrittenProgress {
  taskId: string
  /** 0 to 99: 100 is kept for the end. Null: none was told. */
  progress: number | null
  /** How many are ahead of it at the provider; null: it is in no queue, or in one that nobody tells of. */
  queuePosition: number | null
  /** How long after its start it will probably be done; null: as estimated before. */
  expectedMs: number | null
}

/** Whose tasks were written. */
export interface ProgressWritten {
  users: ReadonlySet<string>
  /** Those of them whose place in a queue has changed, which only the rows tell. */
  moved: ReadonlySet<string>
}

/**
 * Writes progress that is further than what the rows say, and places in the queue that differ from it, of many tasks in
 * one statement. Needs no fence: progress only rises, and only while a task runs; a place that is out of date is put
 * right by the next poll. A row that somebody holds is left out: it is probably about to end, and if not, the next
 * report comes soon.
 */
export async function writeProgress(sql: Sql, reports: readonly WrittenProgress[]): Promise<ProgressWritten> {
  const rows = await sql<{ userId: string; hasMoved: boolean }[]>`
    with reported as (
      select * from unnest(
        ${reports.map(({ taskId }) => taskId)}::uuid[], ${reports.map(({ progress }) => progress)}::int[],
        ${reports.map(({ queuePosition }) => queuePosition)}::int[],
        ${reports.map(({ expectedMs }) => expectedMs)}::float8[]
      ) as r (id, progress, queue_position, expected_ms)
    ),
    free as (
      -- One by one, so that no guess of how many there are makes the planner read the whole table.
      select r.*, t.at, t.was from reported r cross join lateral (
        select t.ctid as at, t.queue_position as was from holdfast.tasks t
        where t.id = r.id and t.status = 'running'
          and (coalesce(t.progress, -1) < r.progress or t.queue_position is distinct from r.queue_position)
        limit 1 for update skip locked
      ) t
    )
    update holdfast.tasks t set
      progress = greatest(t.progress, f.progress),
      queue_position = f.queue_position,
      estimated_at = coalesce(t.started_at + f.expected_ms * interval '1 ms', t.estimated_at)
    from free f where t.ctid = f.at
    returning t.user_id as "userId", f.was is distinct from f.queue_position as "hasMoved"
  `
  const usersOf = (some: readonly { userId: string }[]) => new Set(some.map(({ userId }) => userId))
  return { users: usersOf(rows), moved: usersOf(rows.filter(({ hasMoved }) => hasMoved)) }
}
