import type { Sql } from '../../packages/server/src/database/connect.ts'
import { sampleTask } from '../stream/sample-task.ts'

/** Running tasks of one user for each size; nobody works on them, so they stay as they are. */
export async function seedUsers(sql: Sql, sizes: readonly number[]): Promise<void> {
  for (const size of sizes) {
    await sql`
      insert into holdfast.tasks (user_id, type, provider, params)
      select ${userOf(size)}, 'image', 'idle', ${JSON.stringify(sampleTask.params)}::text::jsonb
      from generate_series(1, ${size}::int)
    `
  }
  await sql`
    update holdfast.tasks set status = 'running', started_at = now(),
      deadline_at = now() + interval '1 day', estimated_at = now() + interval '1 hour'
  `
  await sql`vacuum analyze holdfast.tasks`
}

export const userOf = (size: number): string => `owner-of-${size}`
