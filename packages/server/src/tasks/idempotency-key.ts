import type { Task } from '@holdfast/shared'
import type { Sql, Tx } from '../database/connect.ts'
import { HoldfastError } from '../errors.ts'
import { findTask } from './find-task.ts'

/** A key that a user gave to a request, and what the request asked for. */
export interface IdempotencyKey {
  userId: string
  key: string
  bodyHash: string
}

/** The task that an earlier request with this key made. */
export async function findByKey(sql: Sql, { userId, key, bodyHash }: IdempotencyKey): Promise<Task | null> {
  const [found] = await sql<{ bodyHash: string; taskId: string }[]>`
    select body_hash as "bodyHash", task_id as "taskId" from holdfast.idempotency_keys
    where user_id = ${userId} and key = ${key} and expires_at > now()
  `
  if (!found) return null
  if (found.bodyHash !== bodyHash) {
    throw new HoldfastError(
      'IDEMPOTENCY_KEY_REUSED',
      'This Idempotency-Key was used with another body. Use a new key for a new request.',
    )
  }
  const task = await findTask(sql, userId, found.taskId)
  if (!task) {
    throw new HoldfastError(
      'TASK_REMOVED',
      'This Idempotency-Key made a task that has been removed since, at the end of its keeping time. Use a new key for a new request.',
    )
  }
  return task
}

/** False if somebody else has it. Waits for a transaction that is about to take the same key. */
export async function takeKey(
  tx: Tx,
  { userId, key, bodyHash }: IdempotencyKey,
  taskId: string,
): Promise<boolean> {
  const taken = await tx`
    insert into holdfast.idempotency_keys as k (user_id, key, body_hash, task_id)
    values (${userId}, ${key}, ${bodyHash}, ${taskId})
    on conflict (user_id, key) do update
      set body_hash = excluded.body_hash, task_id = excluded.task_id, created_at = now(), expires_at = excluded.expires_at
      where k.expires_at <= now()
    returning 1
  `
  return taken.length > 0
}
