import { resultKey } from '../artifacts/result-key.ts'
import { transaction } from '../database/transaction.ts'
import type { SweepContext } from './run-sweeps.ts'

const MOST = 500

interface ExpiredFile {
  id: string
  taskId: string | null
  userId: string
  ordinal: number
  state: 'remote' | 'stored'
  objectKey: string | null
  contentType: string | null
}

/**
 * Deletes files whose time is over, then marks them (O5). In this order, because a mark without a deletion would leave
 * the file for ever; a process that dies in between deletes again what is gone, which is no error.
 */
export async function sweepExpiredFiles({ sql, notify, log, objects }: SweepContext): Promise<number> {
  const files = await sql<ExpiredFile[]>`
    select id, task_id as "taskId", user_id as "userId", ordinal, state, object_key as "objectKey",
      content_type as "contentType"
    from holdfast.artifacts where state in ('remote', 'stored') and expires_at <= now()
    order by expires_at limit ${MOST}
  `
  const stored = files.filter((file) => file.state === 'stored')
  if (stored.length > 0 && !objects) {
    log.warn(
      { files: stored.length },
      'files are past their time, but no object store is configured to delete them from',
    )
  }
  const over = objects ? files : files.filter((file) => file.state === 'remote')
  if (over.length === 0) return 0
  await objects?.delete(over.flatMap(keyOf)).catch((error: unknown) => {
    // Without its code, which the database has as well: this one is not to blame.
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`Expired files could not be deleted. ${reason}`, { cause: error })
  })

  // Not those that were stored since we looked: their object is still there, and the next sweep has it.
  return await transaction(sql, async (tx) => {
    await tx`
      delete from holdfast.work w using unnest(${over.map((file) => file.taskId)}::uuid[], ${over.map((file) => file.ordinal)}::int[]) o (task_id, part)
      where w.task_id = o.task_id and w.kind = 'copy' and w.part = o.part
    `
    // Work → task → file, as everywhere.
    const locked = [...new Set(over.flatMap(({ taskId }) => taskId ?? []))].sort()
    await tx`select from holdfast.tasks where id = any(${locked}::uuid[]) order by id for no key update`
    const ended = await tx<{ taskId: string | null; userId: string }[]>`
      update holdfast.artifacts a set state = case when a.state = 'stored' then 'deleted' else 'expired' end
      from unnest(${over.map((file) => file.id)}::uuid[], ${over.map((file) => file.state)}::text[]) o (id, state)
      where a.id = o.id and a.state = o.state
      returning a.task_id as "taskId", a.user_id as "userId"
    `
    // Raises their versions, so that open tabs hear of it.
    const tasks = [...new Set(ended.flatMap(({ taskId }) => taskId ?? []))].sort()
    await tx`update holdfast.tasks set updated_at = now() where id = any(${tasks}::uuid[])`
    tx.afterCommit(() => {
      for (const userId of new Set(ended.map((file) => file.userId))) notify.changed(userId)
    })
    return ended.length
  })
}

/** Where the file is, or where a process that died before it could say so may have put it. */
function keyOf({ objectKey, taskId, ...file }: ExpiredFile): string[] {
  if (objectKey !== null) return [objectKey]
  return taskId === null ? [] : [resultKey({ ...file, taskId })]
}
