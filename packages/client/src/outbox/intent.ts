import type { TaskFailure } from '@holdfast/shared'
import type { HoldfastError } from '../holdfast-error.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'
import type { SubmitBody } from '../transport/transport.ts'

/** A submit that the server has not answered yet, as it is kept in this browser. */
export interface Intent {
  /** The idempotency key: however often it is sent, it is one task. */
  key: string
  body: SubmitBody & { placeholderId: string }
  /** The task that is to be done again, instead of a new one. */
  retryOf: string | null
  /** By the server's clock. */
  createdAt: number
  /** Which tab made it (across reloads), and which page has taken it upon itself to send it, since when. */
  madeBy: string
  sender: string
  claimedAt: number
  failure: (Omit<TaskFailure, 'code'> & { code: HoldfastError['code'] }) | null
}

export type Intents = Record<string, Intent>

export function isIntents(value: unknown): value is Intents {
  return Object.values(value ?? {}).every((intent) => intent?.body?.placeholderId)
}

/** What stands for the task until there is one. */
export function toDraft({ key, body, retryOf, createdAt, failure }: Intent, isMine: boolean): TrackedTask {
  const at = new Date(createdAt).toISOString()
  return {
    // Type, params and placeholder as they were asked for.
    ...body,
    id: key,
    provider: '',
    status: failure ? 'failed' : 'pending',
    progress: null,
    queuePosition: null,
    result: null,
    failure: failure as TaskFailure | null,
    conversationId: body.conversationId ?? null,
    messageId: null,
    saveState: 'none',
    parentId: null,
    retryOf,
    credits: { held: 0, spent: 0, returned: 0 },
    estimatedAt: null,
    lane: 'free_default',
    priority: 5,
    metadata: body.metadata ?? {},
    attempts: 0,
    lastError: null,
    nextAttemptAt: null,
    version: 0,
    createdAt: at,
    startedAt: null,
    finishedAt: failure && at,
    deadlineAt: null,
    updatedAt: at,
    origin: isMine ? 'this-tab' : 'other-tab',
    stale: false,
    unsent: true,
  }
}
