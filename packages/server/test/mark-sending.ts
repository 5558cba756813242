import type { Sql } from '../src/database/connect.ts'
import { transaction } from '../src/database/transaction.ts'
import { type Fence, isHeld } from '../src/engine/claim.ts'

/** Marks a create as being sent, as its claim does. False if the claim was lost or it is marked already. */
export function markSending(sql: Sql, taskId: string, fence: Fence): Promise<boolean> {
  return transaction(sql, async (tx) => {
    const [held] =
      await tx`select from holdfast.work w where ${isHeld(tx, 'send', { ...fence, taskId })} for update`
    if (!held) return false
    const marked = await tx`
      update holdfast.provider_jobs set sending_at = now() where task_id = ${taskId} and sending_at is null and external_id is null
    `
    return marked.count === 1
  })
}
