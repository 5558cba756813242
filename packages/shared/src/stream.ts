import type { Conversation, ConversationList } from './conversation.ts'
import type { TaskStatus } from './status.ts'
import type { Task } from './task.ts'

/** What happened to a task, as far as the receiver of an event can tell it (E1). */
export type TaskChange =
  | 'submitted'
  | 'started'
  | 'progress'
  | 'completed'
  | 'failed'
  /** Failed with all attempts spent, so that it was left for an operator: said instead of `failed`. */
  | 'dead-lettered'
  | 'cancelled'
  | 'updated'

/**
 * Why the server ended a stream. After `token-expired` a new token is needed; after `shutdown` reconnect;
 * `superseded`: another tab of the same browser has taken over, so do not.
 */
export type StreamEnd = 'token-expired' | 'shutdown' | 'superseded'

/** What `POST /v1/sync` answers, and what the `snapshot` event carries. */
export interface SyncAnswer {
  /** Tasks whose state is newer than what the caller said it knows. */
  tasks: Task[]
  /** Ids the caller named that this user does not have. */
  gone: string[]
  /**
   * With a cursor: the conversations that changed since. Without one: the 50 with the newest activity, and all that are
   * unread, at most 200. Absent where the backend keeps none.
   */
  conversations?: Conversation[]
  /** How many of all that the user has are unread. */
  unreadConversations?: number
  /** Pass it back to be told only of what changed since. */
  cursor: string
  /** The server's clock, so that the client need not trust its own. */
  now: string
}

/**
 * `GET /v1/stream`: event name → data. The SSE `id` of `snapshot` and `task` is the cursor to resume from. The others have
 * none: a client that resumes gets those conversations again.
 */
export interface StreamEvents {
  snapshot: SyncAnswer
  task: { task: Task; change: TaskChange }
  conversations: ConversationList
  end: { reason: StreamEnd }
}

/** Names the change between what a receiver knew of a task and what it learns now. */
export function nameChange(
  before: { status: TaskStatus; progress: number | null } | undefined,
  after: Task,
): TaskChange {
  if (before?.status !== after.status) return nameStatus(after.status, after.failure?.deadLettered === true)
  return before.progress !== after.progress ? 'progress' : 'updated'
}

/** Names the change that led to a status. */
export function nameStatus(status: TaskStatus, isDeadLettered: boolean): TaskChange {
  if (status === 'pending') return 'submitted'
  if (status === 'running') return 'started'
  return isDeadLettered ? 'dead-lettered' : status
}
