import type { FailureCode, Lane, SaveState, Task, TaskOutput, TaskStatus } from '@holdfast/shared'
import type { Sql, Tx } from '../database/connect.ts'
import { type ArtifactRow, outputsOf } from './artifact-row.ts'

export interface TaskRow {
  id: string
  userId: string
  type: string
  provider: string
  status: TaskStatus
  progress: number | null
  queuePosition: number | null
  params: Record<string, unknown>
  /** Whether `params` are only what lists carry of them. */
  paramsOmitted: boolean
  metadata: Record<string, unknown>
  failureCode: FailureCode | null
  failureMessage: string | null
  failureRetryable: boolean | null
  deadLettered: boolean
  conversationId: string | null
  placeholderId: string | null
  messageId: string | null
  saveState: SaveState
  parentId: string | null
  retryOf: string | null
  creditsHeld: number
  creditsSpent: number
  creditsReturned: number
  estimatedAt: Date | null
  lane: Lane
  priority: number
  attempts: number
  lastError: string | null
  nextAttemptAt: Date | null
  version: number
  createdAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  deadlineAt: Date | null
  updatedAt: Date
  outputs: ArtifactRow[] | null
}

/**
 * The columns of `holdfast.tasks t` that make a `TaskRow`, outputs included.
 *
 * @param carried `listed`: long parameters in short, as many tasks at once may carry them
 */
export function taskColumns(sql: Sql | Tx, carried: 'whole' | 'listed') {
  return sql`
    t.id, t.user_id as "userId", t.type, t.provider, t.status, t.progress, t.queue_position as "queuePosition", t.metadata,
    ${
      carried === 'whole'
        ? sql`t.params, false as "paramsOmitted"`
        : sql`coalesce(t.shown_params, t.params) as params, t.shown_params is not null as "paramsOmitted"`
    },
    t.failure_code as "failureCode", t.failure_message as "failureMessage", t.failure_retryable as "failureRetryable",
    t.dead_lettered as "deadLettered",
    t.conversation_id as "conversationId", t.placeholder_id as "placeholderId", t.message_id as "messageId",
    case when t.unsaved <> '{}' then 'failed' when t.status = 'completed' then 'saved' else 'none' end as "saveState",
    t.parent_id as "parentId", t.retry_of as "retryOf", t.estimated_at as "estimatedAt", t.lane, t.priority,
    greatest(t.credits_held - t.credits_spent - t.credits_returned, 0)::float8 as "creditsHeld",
    t.credits_spent::float8 as "creditsSpent", t.credits_returned::float8 as "creditsReturned",
    t.attempts, t.last_error as "lastError", t.next_attempt_at as "nextAttemptAt", t.version,
    t.created_at as "createdAt", t.started_at as "startedAt", t.finished_at as "finishedAt",
    t.deadline_at as "deadlineAt", t.updated_at as "updatedAt",
    case when t.status = 'completed' then
      ${outputsOf(sql, sql`a.task_id = t.id`)}
    end as outputs
  `
}

export function toTask(row: TaskRow, outputs: TaskOutput[] | null): Task {
  return {
    id: row.id,
    type: row.type,
    provider: row.provider,
    status: row.status,
    progress: row.progress,
    queuePosition: row.queuePosition,
    params: row.params,
    ...(row.paramsOmitted ? { paramsOmitted: true as const } : {}),
    result: outputs && { outputs },
    failure:
      row.failureCode !== null && row.failureMessage !== null && row.failureRetryable !== null
        ? {
            code: row.failureCode,
            message: row.failureMessage,
            retryable: row.failureRetryable,
            ...(row.deadLettered ? { deadLettered: true } : {}),
          }
        : null,
    conversationId: row.conversationId,
    placeholderId: row.placeholderId,
    messageId: row.messageId,
    saveState: row.saveState,
    parentId: row.parentId,
    retryOf: row.retryOf,
    credits: { held: row.creditsHeld, spent: row.creditsSpent, returned: row.creditsReturned },
    estimatedAt: row.estimatedAt?.toISOString() ?? null,
    lane: row.lane,
    priority: row.priority,
    metadata: row.metadata,
    attempts: row.attempts,
    lastError: row.lastError,
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    version: row.version,
    createdAt: row.createdAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    finishedAt: row.finishedAt?.toISOString() ?? null,
    deadlineAt: row.deadlineAt?.toISOString() ?? null,
    updatedAt: row.updatedAt.toISOString(),
  }
}
