import type { Sql } from '../database/connect.ts'

export interface WrittenProgress {
  taskId: string
  /** 0 to 99: 100 is kept for the end. */
  progress: number
  /** How long after its start it will probably be done; null: as estimated before. */
  expectedMs: number | null
}

/**
 * Writes progress that is further than what the rows say, of many tasks in one statement, and returns whose they are.
 * Needs no fence: progress only rises, and only while a task runs. A row that somebody holds is left out: it is
 * probably about to end, and if not, the next report comes soon.
 */
export async function writeProgress(sql: Sql, reports: readonly WrittenProgress[]): Promise<string[]> {
  const rows = await sql<{ userId: string }[]>`
    with reported as (
      select * from unnest(
        ${reports.map(({ taskId }) => taskId)}::uuid[], ${reports.map(({ progress }) => progress)}::int[],
        ${reports.map(({ expectedMs }) => expectedMs)}::float8[]
      ) as r (id, progress, expected_ms)
    ),
    free as (
      -- One by one, so that no guess of how many there are makes the planner read the whole table.
      select r.*, t.at from reported r cross join lateral (
        select t.ctid as at from holdfast.tasks t
        where t.id = r.id and t.status = 'running' and coalesce(t.progress, -1) < r.progress
        limit 1 for update skip locked
      ) t
    )
    update holdfast.tasks t set
      progress = f.progress,
      estimated_at = coalesce(t.started_at + f.expected_ms * interval '1 ms', t.estimated_at)
    from free f where t.ctid = f.at
    returning t.user_id as "userId"
  `
  return [...new Set(rows.map(({ userId }) => userId))]
}
