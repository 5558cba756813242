import type { TaskFailure, TerminalStatus } from '@holdfast/shared'
import { writeArtifacts } from '../artifacts/write-artifacts.ts'
import type { Sql, Tx } from '../database/connect.ts'
import { transaction } from '../database/transaction.ts'
import { writeMessage } from '../plugins/conversations/write-message.ts'
import type { ProviderOutput } from '../providers/provider.ts'

export type Settlement =
  | { status: 'completed'; outputs: ProviderOutput[] }
  | { status: 'failed'; failure: TaskFailure }
  | { status: 'cancelled' }

/** Proof of holding a claim: whoever claimed the same work later has raised the epoch. */
export interface Fence {
  workId: string
  epoch: number
}

export type SettleResult =
  | { kind: 'settled'; userId: string }
  /** Somebody else ended the task first; nothing was changed (F10). */
  | { kind: 'already-ended' }
  /** The claim was lost; nothing was changed. */
  | { kind: 'fenced' }

export interface EndedTask {
  id: string
  userId: string
  type: string
  status: TerminalStatus
  params: Record<string, unknown>
  conversationId: string | null
  placeholderId: string | null
}

/**
 * Ends a task in one transaction: status, result, message and unread mark (F11).
 *
 * A provider's final answer is a fact and needs no fence: the task's own status decides who was first. What *we*
 * decide (a deadline, giving up) is only ours to decide while we hold the claim, so it comes with a fence. The
 * fence is a row lock, taken before anything is written.
 */
export function settleTask(
  sql: Sql,
  taskId: string,
  settlement: Settlement,
  fence?: Fence,
): Promise<SettleResult> {
  return transaction(sql, (tx) => settleInTransaction(tx, taskId, settlement, fence))
}

/** The same, as a part of a larger transaction. */
export async function settleInTransaction(
  tx: Tx,
  taskId: string,
  settlement: Settlement,
  fence?: Fence,
): Promise<SettleResult> {
  const work = await tx<{ id: string; kind: string; epoch: number; polls: number }[]>`
    select id::text, kind, epoch, polls from holdfast.work
    where task_id = ${taskId} and kind in ('submit', 'poll') order by id for update
  `
  if (fence && !work.some((row) => row.id === fence.workId && row.epoch === fence.epoch))
    return { kind: 'fenced' }

  const [task] = await tx<(EndedTask & { active: boolean })[]>`
    select id, user_id as "userId", type, params, conversation_id as "conversationId", placeholder_id as "placeholderId",
      status in ('pending', 'running') as active
    from holdfast.tasks where id = ${taskId} for update
  `
  if (!task?.active) return { kind: 'already-ended' }

  const polls = work.reduce((sum, row) => sum + row.polls, 0)
  await tx`delete from holdfast.work where task_id = ${taskId} and kind in ('submit', 'poll')`
  const ended: EndedTask = { ...task, status: settlement.status }
  const messageId = settlement.status === 'completed' ? await writeMessage(tx, ended) : null
  const failure = settlement.status === 'failed' ? settlement.failure : null
  await tx`
    update holdfast.tasks set
      status = ${settlement.status},
      progress = ${settlement.status === 'completed' ? tx`100` : tx`progress`},
      failure_code = ${failure?.code ?? null},
      failure_message = ${failure?.message ?? null},
      failure_retryable = ${failure?.retryable ?? null},
      message_id = ${messageId},
      expires_at = ${settlement.status === 'completed' ? tx`now() + keep_ms * interval '1 ms'` : null},
      poll_count = poll_count + ${polls},
      last_polled_at = ${polls > 0 ? tx`now()` : tx`last_polled_at`},
      -- This transaction may have begun before the one that started the task, and waited for it.
      finished_at = greatest(now(), created_at, started_at)
    where id = ${taskId}
  `
  if (settlement.status === 'completed') await writeArtifacts(tx, ended, messageId, settlement.outputs)
  return { kind: 'settled', userId: task.userId }
}
