import type { Sql } from '../../packages/server/src/database/connect.ts'
import { sampleTask } from './sample-task.ts'

/** One running task for each of so many users. */
export async function seedRunning(sql: Sql, users: number): Promise<{ userId: string; taskId: string }[]> {
  await sql`truncate holdfast.tasks cascade`
  const rows = await sql<{ userId: string; taskId: string }[]>`
    insert into holdfast.tasks (user_id, type, provider, params)
    select 'user-' || n, 'image', 'idle', ${JSON.stringify(sampleTask.params)}::text::jsonb
    from generate_series(0, ${users - 1}::int) n
    returning user_id as "userId", id as "taskId"
  `
  await sql`
    update holdfast.tasks set status = 'running', started_at = now(),
      deadline_at = now() + interval '1 hour', estimated_at = now() + interval '1 minute'
  `
  await sql`vacuum analyze holdfast.tasks`
  return rows
}
