import type { Sql } from '../database/connect.ts'

/**
 * Somebody has begun to watch: poll this user's tasks soon instead of at their unwatched pace. `withinMs` is the
 * provider's minimum, so coming and going cannot make it more often than that.
 */
export async function hastenPolls(sql: Sql, userId: string, withinMs: number): Promise<void> {
  await sql`
    update holdfast.work w set due_at = now() + ${withinMs} * interval '1 ms'
    from holdfast.tasks t
    where t.user_id = ${userId} and t.status in ('pending', 'running')
      and w.task_id = t.id and w.kind = 'poll' and w.due_at > now() + ${withinMs} * interval '1 ms'
  `
}
