import type { TaskStatus } from '@holdfast/shared'
import type { WriteContext } from '../../bus/create-notify.ts'
import { transaction } from '../../database/transaction.ts'
import type { Aftermath } from '../../tasks/aftermath.ts'

export interface Acceptance {
  taskId: string
  externalId: string
  provider: string
  deadlineMs: number
  expectedMs: number
  /** When to ask for the first time. */
  firstPollMs: number
  canCancel: boolean
}

export type AcceptResult =
  | { kind: 'running'; userId: string }
  /** `userId`: whose task it is, where something about it has changed all the same. */
  | { kind: 'ended-meanwhile'; userId: string | null }

/**
 * Writes the external id down. That happens once, whatever the claim's epoch or the task's status: it is the only
 * handle on something that costs money. If the task has ended meanwhile, the provider is asked to stop, and a cancel that
 * waited for this reply is charged.
 */
export function acceptTask(
  { sql, notify }: WriteContext,
  accepted: Acceptance,
  aftermath?: Aftermath,
): Promise<AcceptResult> {
  const { taskId, externalId, provider } = accepted
  return transaction(sql, async (tx, over): Promise<AcceptResult> => {
    const [send] = await tx<{ lane: string }[]>`
      select lane from holdfast.work where task_id = ${taskId} and kind = 'send' for update
    `
    const [task] = await tx<{ userId: string; status: TaskStatus; lane: string }[]>`
      select user_id as "userId", status, lane from holdfast.tasks where id = ${taskId} for update
    `
    if (!task) return { kind: 'ended-meanwhile', userId: null }
    const running = (): AcceptResult => {
      tx.afterCommit(() => {
        notify.changed(task.userId)
        notify.dueHere('poll', provider, accepted.firstPollMs)
      })
      return { kind: 'running', userId: task.userId }
    }
    // Written before, but the connection broke before we heard so.
    if (task.status === 'running') return running()

    const written = await tx`
      update holdfast.provider_jobs set external_id = ${externalId}, accepted_at = now()
      where task_id = ${taskId} and external_id is null
    `
    await tx`delete from holdfast.work where task_id = ${taskId} and kind = 'send'`

    if (task.status !== 'pending') {
      // Only who wrote the id down asks for a stop. If it was written before, who ended the task knew it and decided:
      // a task may have been completed meanwhile, and a stop could take its files away at the provider.
      if (written.count === 0) return { kind: 'ended-meanwhile', userId: null }
      if (accepted.canCancel) {
        await tx`insert into holdfast.work (task_id, kind, provider) values (${taskId}, 'cancel', ${provider}) on conflict do nothing`
        tx.afterCommit(() => notify.due('cancel', provider))
      }
      if (!send) return { kind: 'ended-meanwhile', userId: null }
      tx.afterCommit(() => notify.changed(task.userId))
      await aftermath?.createKnown({ tx, over }, taskId, 'accepted')
      return { kind: 'ended-meanwhile', userId: task.userId }
    }

    await tx`
      update holdfast.tasks set
        status = 'running',
        attempts = least(attempts + 1, 32767),
        last_error = null,
        next_attempt_at = null,
        started_at = greatest(now(), created_at),
        deadline_at = greatest(now(), created_at) + coalesce(timeout_ms, ${accepted.deadlineMs}) * interval '1 ms',
        estimated_at = greatest(now(), created_at) + ${accepted.expectedMs} * interval '1 ms'
      where id = ${taskId}
    `
    await tx`
      insert into holdfast.work (task_id, kind, provider, lane, due_at)
      values (${taskId}, 'poll', ${provider}, ${send?.lane ?? task.lane}, now() + ${accepted.firstPollMs} * interval '1 ms')
    `
    return running()
  })
}
