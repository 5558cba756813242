import type { Sql } from '../database/connect.ts'
import { transaction } from '../database/transaction.ts'
import type { Fence } from '../tasks/settle-task.ts'

export interface CopiedFile extends Fence {
  taskId: string
  ordinal: number
  artifactId: string
  key: string
  bytes: number
  sha256: string
  contentType: string
}

/**
 * Writes down that files are in the store, many in one transaction: each artifact, the end of its work, and a new
 * version of its task, so that every tab gets the new URL. Returns for each whether it was: not if the claim was lost,
 * or if the file is not wanted any more.
 *
 * The fence is the deletion of the work row with its epoch. Locks are taken in the order work → artifact → task, and
 * tasks by id.
 */
export async function markStored(sql: Sql, files: readonly CopiedFile[]): Promise<boolean[]> {
  const stored = await transaction(
    sql,
    (tx) => tx<{ n: number }[]>`
      with b as materialized (
        select * from unnest(
          ${files.map((file) => file.taskId)}::uuid[], ${files.map((file) => file.ordinal)}::int[],
          ${files.map((file) => file.workId)}::bigint[], ${files.map((file) => file.epoch)}::int[],
          ${files.map((file) => file.artifactId)}::uuid[], ${files.map((file) => file.key)}::text[],
          ${files.map((file) => file.bytes)}::bigint[], ${files.map((file) => file.sha256)}::text[],
          ${files.map((file) => file.contentType)}::text[]
        ) with ordinality as b (task_id, part, id, epoch, artifact_id, key, bytes, sha256, content_type, n)
      ),
      done as (
        delete from holdfast.work w using b
        where w.task_id = b.task_id and w.kind = 'mirror' and w.part = b.part and w.id = b.id and w.epoch = b.epoch
        returning b.n
      ),
      stored as (
        update holdfast.artifacts a set
          state = 'stored', object_key = b.key, bytes = b.bytes, sha256 = b.sha256, content_type = b.content_type, problem = null
        from b join done on done.n = b.n
        where a.id = b.artifact_id and a.task_id = b.task_id and a.state = 'remote'
        returning b.n, a.task_id
      ),
      held as materialized (
        select t.id from holdfast.tasks t where t.id in (select task_id from stored) order by t.id for no key update
      ),
      told as (update holdfast.tasks t set updated_at = now() from held where t.id = held.id)
      select n::int from stored
    `,
  )
  const written = new Set(stored.map(({ n }) => n))
  return files.map((_, index) => written.has(index + 1))
}
