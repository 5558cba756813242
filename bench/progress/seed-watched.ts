import type { Sql } from '../../packages/server/src/database/connect.ts'
import type { ProgressSettings } from './progress-messages.ts'

/** Running tasks whose next polls are spread over one interval. */
export async function seedWatched(sql: Sql, settings: ProgressSettings): Promise<void> {
  const { users, tasksPerUser, pollMs } = settings
  await sql`truncate holdfast.tasks cascade`
  await sql`truncate holdfast.poll_plans`
  await sql.begin(async (tx) => {
    // Straight to `running`: the rules that forbid it are triggers.
    await tx`set local session_replication_role = replica`
    await tx`
      insert into holdfast.tasks (user_id, type, provider, status, params, started_at, deadline_at)
      select 'user-' || n % ${users}::int, 'image', 'steps', 'running',
        '{"prompt": "A lighthouse on a basalt cliff at dusk, long exposure, sea mist"}', now(), now() + interval '1 day'
      from generate_series(0, ${users * tasksPerUser - 1}::int) n
    `
    await tx`
      insert into holdfast.provider_jobs (task_id, provider, sending_at, external_id, accepted_at)
      select id, 'steps', now(), 'external-' || id, now() from holdfast.tasks
    `
    await tx`
      insert into holdfast.work (task_id, kind, provider, due_at)
      select id, 'poll', 'steps', now() + random() * ${pollMs}::float8 * interval '1 ms' from holdfast.tasks
    `
  })
  await sql`vacuum analyze holdfast.tasks, holdfast.provider_jobs, holdfast.work`
}
