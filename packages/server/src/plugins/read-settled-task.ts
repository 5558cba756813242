import type { FailureCode } from '@holdfast/shared'
import type { Tx } from '../database/connect.ts'
import type { SettledOutput, SettledTask } from './plugin.ts'

interface Row extends Omit<SettledTask, 'failure' | 'outputs'> {
  failureCode: FailureCode | null
  failureMessage: string | null
  failureRetryable: boolean | null
}

/** A task that has ended, as plugins are told of it. What is written in this transaction is already in it. */
export async function readSettledTask(tx: Tx, taskId: string): Promise<SettledTask> {
  const [task] = await readSettledTasks(tx, [taskId])
  if (!task) throw new Error(`Task ${taskId} is gone.`)
  return task
}

/** Many of them, in the order of their ids. */
export async function readSettledTasks(tx: Tx, taskIds: readonly string[]): Promise<SettledTask[]> {
  const ids = taskIds as string[]
  // Sent together.
  const [rows, outputs] = await Promise.all([
    tx<Row[]>`
      select t.id, t.user_id as "userId", t.type, t.provider, t.status, t.params, t.metadata, t.lane, t.priority,
        t.conversation_id as "conversationId", t.placeholder_id as "placeholderId", t.parent_id as "parentId",
        t.retry_of as "retryOf", t.failure_code as "failureCode", t.failure_message as "failureMessage",
        t.failure_retryable as "failureRetryable", t.credits_held::float8 as "creditsHeld",
        coalesce((
          select l.amount::float8 from holdfast.credit_ledger l where l.task_id = t.id and l.kind = 'capture'
        ), 0) as "creditsSpent",
        t.usage, case when j.external_id is not null then 'accepted' when j.sending_at is not null then 'perhaps' else 'no' end as sent,
        t.created_at as "createdAt", t.started_at as "startedAt", t.finished_at as "finishedAt",
        j.trace_id as "traceId"
      from holdfast.tasks t left join holdfast.provider_jobs j on j.task_id = t.id
      where t.id = any(${ids}::uuid[]) order by t.id
    `,
    tx<(SettledOutput & { taskId: string })[]>`
      select a.task_id as "taskId", a.id, a.source_url as url, a.content_type as "contentType",
        a.source_expires_at as "urlExpiresAt"
      from holdfast.artifacts a where a.task_id = any(${ids}::uuid[]) order by a.task_id, a.ordinal
    `,
  ])
  const outputsOf = Map.groupBy(outputs, ({ taskId }) => taskId)
  return rows.map(({ failureCode: code, failureMessage: message, failureRetryable: retryable, ...task }) => ({
    ...task,
    failure: code !== null && message !== null && retryable !== null ? { code, message, retryable } : null,
    outputs: (outputsOf.get(task.id) ?? []).map(({ taskId: _, ...output }) => output),
  }))
}
