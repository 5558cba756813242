import type postgres from 'postgres'
import { externalIdOf } from '../poll/settings.ts'
import type { ScaleRun } from './scale-run.ts'

/** Work takes about a fifth of the time that the tasks took to be written; nothing is due before all of it is there. */
const LEAD = 0.6

/** Active tasks that nobody watches, of many users; no work and no plan yet. */
export async function seedTasks(sql: postgres.Sql, run: ScaleRun): Promise<{ tookMs: number }> {
  const began = performance.now()
  const prefix = externalIdOf(0).slice(0, -8)
  await sql`truncate holdfast.tasks cascade`
  await sql`truncate holdfast.poll_plans`
  await sql.begin(async (tx) => {
    // Straight to `running`: the rules that forbid it are triggers.
    await tx`set local session_replication_role = replica`
    await tx`
      insert into holdfast.tasks (user_id, type, provider, status, params, started_at, deadline_at)
      select
        'user-' || n % 5000, 'image', 'kie', 'running',
        '{"prompt": "A lighthouse on a basalt cliff at dusk, long exposure, sea mist", "aspect_ratio": "16:9"}',
        now(), now() + interval '1 day'
      from generate_series(1, ${run.tasks}::int) as n
    `
    await tx`
      insert into holdfast.provider_jobs (task_id, provider, sending_at, external_id, accepted_at, trace_id)
      select id, 'kie', now(), ${prefix} || lpad((row_number() over ())::text, 8, '0'), now(), md5(id::text)
      from holdfast.tasks
    `
  })
  await sql`vacuum analyze holdfast.tasks, holdfast.provider_jobs`
  return { tookMs: performance.now() - began }
}

/** A poll for every task, due at random over one interval. Resolves to when the first one is due. */
export async function seedWork(
  sql: postgres.Sql,
  run: ScaleRun,
  { tookMs }: { tookMs: number },
): Promise<number> {
  const leadMs = 2_000 + tookMs * LEAD
  const [row] = await sql<{ now: Date }[]>`select now()`
  const startsAt = (row?.now.getTime() ?? 0) + leadMs
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx`
      insert into holdfast.work (task_id, kind, provider, due_at)
      select id, 'poll', 'kie', ${new Date(startsAt)}::timestamptz + random() * ${run.intervalMs}::float8 * interval '1 ms'
      from holdfast.tasks order by random()
    `
  })
  await sql`vacuum analyze holdfast.work`
  if (Date.now() > startsAt) {
    throw new Error(
      'Writing the tasks took so long that the first were due before all were there. Try again.',
    )
  }
  return startsAt
}
