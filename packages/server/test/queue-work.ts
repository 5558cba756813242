import type { Lane } from '@holdfast/shared'
import type { Sql } from '../src/database/connect.ts'
import type { WorkName } from '../src/engine/work-kind.ts'

export interface QueuedWork {
  provider: string
  kind: WorkName
  count?: number
  lane?: Lane
  userId?: string
  type?: string
  /** When it comes due, from now; negative: it is late by that much. */
  dueMs?: number
  /** How long ago the provider accepted it, for polls; how long ago it was asked for, for sends. */
  ageMs?: number
}

/** Tasks with one step each that waits to be claimed, many at once. Returns the ids of the tasks, oldest due first. */
export function queueWork(sql: Sql, work: QueuedWork): Promise<string[]> {
  const { provider, kind, count = 1, lane = 'free_default', userId = 'ada', type = 'image' } = work
  const { dueMs = -60_000, ageMs = 120_000 } = work
  return sql.begin(async (tx) => {
    const rows = await tx<{ id: string }[]>`
      insert into holdfast.tasks (user_id, type, provider, lane, params, created_at)
      select ${userId}, ${type}, ${provider}, ${lane}, '{"prompt": "a fox"}', now() - ${ageMs}::float8 * interval '1 ms'
      from generate_series(1, ${count}::int)
      returning id
    `
    const ids = rows.map((row) => row.id)
    await tx`
      insert into holdfast.provider_jobs (task_id, provider, trace_id)
      select id, ${provider}, 'trace' from unnest(${ids}::uuid[]) as t (id)
    `
    if (kind !== 'send') {
      await tx`
        update holdfast.provider_jobs set sending_at = now() - ${ageMs}::float8 * interval '1 ms',
          external_id = 'external-' || task_id, accepted_at = now() - ${ageMs}::float8 * interval '1 ms'
        where task_id = any(${ids}::uuid[])
      `
      await tx`
        update holdfast.tasks set status = 'running', started_at = created_at, deadline_at = now() + interval '10 min'
        where id = any(${ids}::uuid[])
      `
    }
    if (kind === 'cancel') {
      await tx`update holdfast.tasks set status = 'cancelled', finished_at = now() where id = any(${ids}::uuid[])`
    }
    await tx`
      insert into holdfast.work (task_id, kind, provider, lane, due_at)
      select id, ${kind}, ${provider}, ${lane}, now() + (${dueMs}::float8 + n * 0.01) * interval '1 ms'
      from unnest(${ids}::uuid[]) with ordinality as t (id, n)
    `
    return ids
  })
}
