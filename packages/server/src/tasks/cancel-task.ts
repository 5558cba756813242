import type { Task } from '@holdfast/shared'
import type { Sql } from '../database/connect.ts'
import { HoldfastError } from '../errors.ts'
import type { Settle } from './create-settle.ts'
import { findTask } from './find-task.ts'
import type { Presenter } from './present-tasks.ts'

/**
 * Ends a waiting or running task at its user's wish (Q9). What the provider has already accepted is cancelled there
 * too, by work of its own, where the provider can.
 */
export async function cancelTask(
  sql: Sql,
  settle: Settle,
  userId: string,
  taskId: string,
  canCancel: (provider: string) => boolean,
  present?: Presenter,
): Promise<Task> {
  const before = await findTask(sql, userId, taskId, present)
  if (!before) throw new HoldfastError('NOT_FOUND', 'There is no such task.')

  const result = await settle(
    taskId,
    { status: 'cancelled', by: 'user' },
    {
      progress: before.progress,
      async also(tx) {
        if (!canCancel(before.provider)) return
        await tx`
          insert into holdfast.work (task_id, kind, provider)
          select task_id, 'cancel', provider from holdfast.provider_jobs where task_id = ${taskId} and external_id is not null
          on conflict do nothing
        `
      },
    },
  )
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
