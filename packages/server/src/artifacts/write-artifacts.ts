import type { Tx } from '../database/connect.ts'
import type { EndedTask, Settlement } from '../tasks/settle-task.ts'

/**
 * One row per result file, in the transaction that completes the task: visible at the provider's URL from then on (O1).
 * With a store there is also the work of copying each to it, due at once, and due first where the source dies first.
 */
export async function writeArtifacts(
  tx: Tx,
  task: Pick<EndedTask, 'id' | 'userId'>,
  { outputs, mirror = false }: Pick<Extract<Settlement, { status: 'completed' }>, 'outputs' | 'mirror'>,
): Promise<void> {
  if (outputs.length === 0) return
  await tx`
    with written as (
      insert into holdfast.artifacts (task_id, user_id, ordinal, content_type, source_url, source_expires_at, expires_at)
      select ${task.id}, ${task.userId}, o.ordinal - 1, o.content_type, o.url, now() + o.lifetime * interval '1 ms',
        now() + (select keep_ms from holdfast.tasks where id = ${task.id}) * interval '1 ms'
      from unnest(
        ${outputs.map((output) => output.url)}::text[],
        ${outputs.map((output) => output.contentType)}::text[],
        ${outputs.map((output) => output.urlLifetimeMs)}::float8[]
      ) with ordinality as o (url, content_type, lifetime, ordinal)
      returning ordinal, source_expires_at
    )
    insert into holdfast.work (task_id, kind, part, provider, lane, needed_by)
    select t.id, 'copy', written.ordinal, t.provider, t.lane, written.source_expires_at
    from written join holdfast.tasks t on t.id = ${task.id} where ${mirror}
  `
}
