import type { WriteContext } from '../../bus/create-notify.ts'
import { transaction } from '../../database/transaction.ts'
import type { Fence } from '../../engine/claim.ts'
import type { CreateFate } from '../../plugins/plugin.ts'
import type { Aftermath } from '../../tasks/aftermath.ts'

/**
 * Ends what a cancelled task still waited for: the reply to a create that was under way. Once, by the replica that deletes the work
 * that stayed for it. Null if nothing was waited for, or if the claim was lost.
 *
 * What a provider answered is a fact and needs no fence. That the answer is lost is ours to say, with the claim.
 */
export function concludeCreate(
  { sql, notify }: WriteContext,
  aftermath: Aftermath,
  {
    taskId,
    fate,
    fence,
  }: { taskId: string; fate: Exclude<CreateFate, 'accepted'>; fence?: Fence | undefined },
): Promise<{ userId: string } | null> {
  return transaction(sql, async (tx, over) => {
    const [work] = await tx<{ id: string; epoch: number }[]>`
      select id::text, epoch from holdfast.work where task_id = ${taskId} and kind = 'send' for update
    `
    if (!work || (fence && (work.id !== fence.workId || work.epoch !== fence.epoch))) return null
    const [task] = await tx<{ userId: string; ended: boolean }[]>`
      select user_id as "userId", finished_at is not null as ended from holdfast.tasks where id = ${taskId} for update
    `
    if (!task?.ended) return null
    await tx`delete from holdfast.work where task_id = ${taskId} and kind = 'send'`
    tx.afterCommit(() => notify.changed(task.userId))
    await aftermath.createKnown({ tx, over }, taskId, fate)
    return { userId: task.userId }
  })
}
