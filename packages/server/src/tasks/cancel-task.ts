import type { Task } from '@holdfast/shared'
import type { Sql } from '../database/connect.ts'
import { HoldfastError } from '../errors.ts'
import type { Settle } from './create-settle.ts'
import { findTask } from './find-task.ts'
import type { Presenter } from './present-tasks.ts'

/**
 * Ends a waiting or running task at its user's wish. What the provider has accepted, or may have, is cancelled there too
 * where the provider can. A create that is under way is never broken off: its reply decides what the cancel costs.
 */
export async function cancelTask(
  sql: Sql,
  settle: Settle,
  userId: string,
  taskId: string,
  present?: Presenter,
): Promise<Task> {
  const before = await findTask(sql, userId, taskId, present)
  if (!before) throw new HoldfastError('NOT_FOUND', 'There is no such task.')

  const result = await settle(taskId, { status: 'cancelled', by: 'user' }, { progress: before.progress })
  const after = await findTask(sql, userId, taskId)
  if (!after) throw new HoldfastError('NOT_FOUND', 'There is no such task.')
  if (result.kind !== 'settled' && after.status !== 'cancelled') {
    throw new HoldfastError(
      'TASK_ALREADY_ENDED',
      `The task has already ended as ${after.status}; there is nothing to cancel.`,
    )
  }
  return after
}
