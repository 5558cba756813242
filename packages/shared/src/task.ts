import type { FailureCode } from './failure-codes.ts'
import type { TaskStatus } from './status.ts'

/**
 * Where the bytes of one result file are.
 *
 * - `remote`: still only at the provider, whose URL dies at `urlExpiresAt`.
 * - `stored`: copied to our object storage.
 * - `expired`: the provider's copy died before it could be copied.
 * - `deleted`: removed at the end of its keeping time.
 */
export type OutputState = 'remote' | 'stored' | 'expired' | 'deleted'

/** One file that a task produced. */
export interface TaskOutput {
  /** Null once the file is gone (`expired`, `deleted`), or while our store cannot be reached: then ask again soon. */
  url: string | null
  contentType: string | null
  bytes: number | null
  state: OutputState
  /** When `url` stops working; fetch the task again before then. Null: it does not expire by itself. */
  urlExpiresAt: string | null
  /** Why there is no copy of the file and will be none, in words for the user; null if there is one, or hope. */
  problem: string | null
  /** When the file itself is removed. Null: kept as long as the task. */
  expiresAt: string | null
}

/**
 * Whether the end of a task was written everywhere it belongs: the message in its conversation, the app's own tables.
 *
 * - `none`: nothing to save: it has not ended, or has no result.
 * - `saved`: all is written.
 * - `failed`: the task has ended and its result is safe, but a part that belongs to it could not be written.
 *   `POST /v1/tasks/:id/save` tries again.
 */
export type SaveState = 'none' | 'saved' | 'failed'

export interface TaskFailure {
  code: FailureCode
  /** Written for the user: what happened and what can be done. */
  message: string
  /** Whether trying the same again (as a new task) may work. */
  retryable: boolean
  /** All attempts were spent, and an operator of the server can see it and have it tried again. Absent: it was not so. */
  deadLettered?: true
}

/** What a task costs its user. All zeros where it is free. `held + spent + returned` is what was put aside, or more. */
export interface TaskCredits {
  /** Put aside now. Not 0 on a cancelled task: the reply to its create still decides. */
  held: number
  /** What it has cost, less what was given back. */
  spent: number
  /** What was put aside or spent, and came back. */
  returned: number
}

export const LANES = ['enterprise_exclusive', 'vip_short', 'vip_long', 'free_default'] as const
export type Lane = (typeof LANES)[number]

/** Task priorities inside a lane (Q1). */
export const PRIORITIES = { low: 1, normal: 5, high: 10, urgent: 20 } as const
export type Priority = keyof typeof PRIORITIES

/** A task as every API answer and every stream event shows it. All times are ISO 8601 by the database's clock. */
export interface Task<Params = Record<string, unknown>> {
  id: string
  type: string
  provider: string
  status: TaskStatus
  /** Per cent, 0–100; null while the provider reports none. */
  progress: number | null
  /** How many are ahead of it at the provider; null unless it says so, once it runs there, and when it has ended. */
  queuePosition: number | null
  /** What was asked for, without secrets. */
  params: Params
  /** Lists, sync and streams carry long parameters (over 4 kB) in short only; `GET /v1/tasks/:id` carries all of them. */
  paramsOmitted?: true
  /** Set exactly when `completed`. */
  result: { outputs: TaskOutput[] } | null
  /** Set exactly when `failed`. */
  failure: TaskFailure | null
  conversationId: string | null
  /** The id under which the submitting device shows the task before there is a message. */
  placeholderId: string | null
  /** The message that the finish wrote into the conversation. */
  messageId: string | null
  saveState: SaveState
  parentId: string | null
  /** The failed or cancelled task that this one repeats, or a completed one whose files were lost. */
  retryOf: string | null
  credits: TaskCredits
  /** When it will probably be done. */
  estimatedAt: string | null
  lane: Lane
  priority: number
  metadata: Record<string, unknown>
  /** How often it was sent to its provider, as far as the outcome is known. */
  attempts: number
  /** Why it was not taken when it was last sent, in words for the user; null once it is taken, or if nothing went wrong. */
  lastError: string | null
  /** When it is sent again at the earliest, while it waits for that. Null otherwise. */
  nextAttemptAt: string | null
  /** Rises by one with every write of the row. */
  version: number
  createdAt: string
  /** When the provider accepted it; deadlines count from here. */
  startedAt: string | null
  finishedAt: string | null
  deadlineAt: string | null
  updatedAt: string
}
