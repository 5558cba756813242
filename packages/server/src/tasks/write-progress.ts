import type { Sql } from '../database/connect.ts'

/**
 * Writes progress that is further than what is known, and returns whose task it is. Needs no fence: progress only
 * rises, and only while the task runs. 100 is kept for the end.
 */
export async function writeProgress(sql: Sql, taskId: string, progress: number): Promise<string | null> {
  const shown = Math.min(99, Math.max(0, Math.floor(progress)))
  const [row] = await sql<{ userId: string }[]>`
    update holdfast.tasks set progress = ${shown}
    where id = ${taskId} and status = 'running' and coalesce(progress, -1) < ${shown}
    returning user_id as "userId"
  `
  return row?.userId ?? null
}
