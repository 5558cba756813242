import type { Tx } from '../database/connect.ts'
import type { ProviderOutput } from '../providers/provider.ts'
import type { EndedTask } from '../tasks/settle-task.ts'

/** One row per result file, in the transaction that completes the task: visible at the provider's URL from then on (O1). */
export async function writeArtifacts(
  tx: Tx,
  task: EndedTask,
  messageId: string | null,
  outputs: ProviderOutput[],
): Promise<void> {
  if (outputs.length === 0) return
  await tx`
    insert into holdfast.artifacts (task_id, message_id, user_id, ordinal, content_type, source_url, source_expires_at, expires_at)
    select ${task.id}, ${messageId}, ${task.userId}, o.ordinal - 1, o.content_type, o.url, now() + o.lifetime * interval '1 ms',
      now() + (select keep_ms from holdfast.tasks where id = ${task.id}) * interval '1 ms'
    from unnest(
      ${outputs.map((output) => output.url)}::text[],
      ${outputs.map((output) => output.contentType)}::text[],
      ${outputs.map((output) => output.urlLifetimeMs)}::float8[]
    ) with ordinality as o (url, content_type, lifetime, ordinal)
  `
}
