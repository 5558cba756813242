import type { TaskFailure } from '@holdfast/shared'
import { isObject } from '../environment/items.ts'
import type { HoldfastError } from '../holdfast-error.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'
import type { SubmitBody } from '../transport/transport.ts'

const EXPIRES_MS = 24 * 60 * 60 * 1_000

/** Where a submit stands that the server has not confirmed: see `intent-states.ts` for what leads from one to another. */
export type IntentState = 'kept' | 'sending' | 'recalled' | 'refused' | 'expired'

/** Why a submit is not sent at this moment, and when it is tried again. */
export interface Waiting {
  reason: HoldfastError['code']
  message: string
  /** ISO 8601, by the server's clock as far as it is known. */
  retryAt: string
}

/** A submit that the server has not confirmed yet, as it is kept in this browser. */
export interface Intent {
  /** The idempotency key: however often it is sent, it is one task. */
  key: string
  body: SubmitBody & { placeholderId: string }
  /** The task that is to be done again, instead of a new one. */
  retryOf: string | null
  /** By this device's clock, which may be wrong by days. */
  createdAt: number
  /** What to add for the server's clock, if it was known then. */
  offset: number | null
  /** Which tab made it, across reloads. */
  madeBy: string
  state: IntentState
  /** Which page sends it, in which tab, since when. */
  sender: string
  senderTab: string
  claimedAt: number
  /** Only of one that is kept after a try. */
  waiting: Waiting | null
  /** Only of one that was refused or has expired. */
  failure: (Omit<TaskFailure, 'code'> & { code: HoldfastError['code'] }) | null
}

/**
 * What the outbox holds, by key. Another release of the app may have left intents that this one cannot read: they are
 * kept as they are for that release, and neither shown nor sent.
 */
export type Intents = Readonly<Record<string, unknown>>

export const isIntents = isObject as (value: unknown) => value is Intents

const STATES: readonly unknown[] = [
  'kept',
  'sending',
  'recalled',
  'refused',
  'expired',
] satisfies IntentState[]

export function isIntent(value: unknown): value is Intent {
  return (
    isObject(value) &&
    STATES.includes(value.state) &&
    isObject(value.body) &&
    typeof value.body.placeholderId === 'string'
  )
}

/** Those that this release can read. */
export const readable = (intents: Intents | undefined): Intent[] =>
  Object.values(intents ?? {}).filter(isIntent)

/** When it was made, by the server's clock; `offset` is what this page knows of that clock. */
const submittedAt = (intent: Intent, offset: number) => intent.createdAt + (intent.offset ?? offset)

/**
 * Whether it is too old to be sent without asking. A page that has not heard the server's clock cannot tell: a device
 * whose own clock is a day off would give up what was just submitted. Both clocks must say so: the device's may have been
 * set since, and what was known of the server's at the time of the submit may have been from before that.
 */
export function isExpired(intent: Intent, now: number, offset: number | null): boolean {
  if (offset === null) return false
  const age = Math.min(now - intent.createdAt, now + offset - submittedAt(intent, offset))
  return age >= EXPIRES_MS
}

/** What stands for the task until there is one. */
export function toDraft(intent: Intent, offset: number, isMine: boolean): TrackedTask {
  const { key, body, retryOf, failure, waiting } = intent
  const { conversation, ...asked } = body
  const at = new Date(submittedAt(intent, offset)).toISOString()
  return {
    // Type, params and placeholder as they were asked for.
    ...asked,
    id: key,
    provider: '',
    status: failure ? 'failed' : 'pending',
    progress: null,
    queuePosition: null,
    result: null,
    failure: failure as TaskFailure | null,
    conversationId: conversation?.id ?? body.conversationId ?? null,
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
    waiting,
  }
}
