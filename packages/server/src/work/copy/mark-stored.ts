import type { Sql } from '../../database/connect.ts'
import { retryDeadlock } from '../../database/retry-deadlock.ts'
import type { Fence } from '../../engine/claim.ts'

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
 * Writes down that files are in the store, many in one statement: each artifact, the end of its work, and a new
 * version of its task, so that every tab gets the new URL. Returns for each whether it was: not if the claim was lost,
 * or if the file is not wanted any more. Null: somebody else holds a row of it, and this one did not wait; it has to
 * be written alone.
 *
 * The fence is the lock of the work row with its epoch. Locks are taken in the order work → task → artifact, by task.
 */
export async function markStored(
  sql: Sql,
  files: readonly CopiedFile[],
  whenHeld: 'skip' | 'wait',
): Promise<(boolean | null)[]> {
  const sorted = files
    .map((file, index) => ({ ...file, index }))
    .toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1))
  const skip = whenHeld === 'skip' ? sql`skip locked` : sql``
  const written = await retryDeadlock(
    () => sql<{ n: number; stored: boolean }[]>`
      with b as materialized (
        select * from unnest(
          ${sorted.map((file) => file.index)}::int[],
          ${sorted.map((file) => file.taskId)}::uuid[], ${sorted.map((file) => file.ordinal)}::int[],
          ${sorted.map((file) => file.workId)}::bigint[], ${sorted.map((file) => file.epoch)}::int[],
          ${sorted.map((file) => file.artifactId)}::uuid[], ${sorted.map((file) => file.key)}::text[],
          ${sorted.map((file) => file.bytes)}::bigint[], ${sorted.map((file) => file.sha256)}::text[],
          ${sorted.map((file) => file.contentType)}::text[]
        ) as b (n, task_id, part, id, epoch, artifact_id, key, bytes, sha256, content_type)
      ),
      claimed as materialized (
        select b.*, w.kind from b cross join lateral (
          select w.kind from holdfast.work w
          where w.task_id = b.task_id and w.kind = 'copy' and w.part = b.part and w.id = b.id and w.epoch = b.epoch
          limit 1 for update ${skip}
        ) w
      ),
      held as materialized (
        select c.* from claimed c cross join lateral (
          select from holdfast.tasks t where t.id = c.task_id limit 1 for no key update ${skip}
        ) t
      ),
      stored as (
        update holdfast.artifacts a set
          state = 'stored', object_key = h.key, bytes = h.bytes, sha256 = h.sha256, content_type = h.content_type, problem = null
        -- Looked up by their keys, whatever the planner believes of remote ones.
        from held h
        where a.id = h.artifact_id and a.id = any(array(select artifact_id from held))
          and a.task_id = h.task_id and a.state = 'remote'
        returning h.n, h.task_id
      ),
      told as (
        update holdfast.tasks t set updated_at = now() where t.id = any(array(select task_id from stored))
      ),
      done as (
        delete from holdfast.work w using held h where w.task_id = h.task_id and w.kind = h.kind and w.part = h.part
      )
      select h.n, exists (select from stored s where s.n = h.n) as stored from held h
    `,
  )
  const answers = new Map(written.map(({ n, stored }) => [n, stored]))
  return files.map((_, index) => answers.get(index) ?? (whenHeld === 'skip' ? null : false))
}
