import { PRIORITIES } from '@holdfast/shared'
import { HoldfastError } from '../errors.ts'
import type { Submission } from '../plugins/plugin.ts'
import { type Adoption, readAdoption } from './adoption.ts'
import { canonicalHash } from './canonical-hash.ts'
import { checkParams } from './check-params.ts'
import type { CreateTaskInput } from './create-task.ts'
import type { IdempotencyKey } from './idempotency-key.ts'
import { scrubSecrets } from './scrub-secrets.ts'
import { bytesOf } from './shown-params.ts'
import { maxParamsBytesOf, type TaskType, type TaskTypes } from './task-types.ts'

/** A request that was looked at and found good, as far as that can be told without the database. */
export interface PreparedTask {
  input: CreateTaskInput
  submission: Submission
  key: IdempotencyKey | null
  type: TaskType
  adoption: Adoption | null
  deadlineMs: number | null
}

export function keyOf({ userId, body, retryOf, idempotencyKey }: CreateTaskInput): IdempotencyKey | null {
  if (idempotencyKey === null) return null
  return { userId, key: idempotencyKey, bodyHash: canonicalHash({ ...body, retryOf: retryOf ?? null }) }
}

/** Throws what the caller is told for a request that no server like this one takes. */
export function prepareTask(types: TaskTypes, input: CreateTaskInput): PreparedTask {
  const { userId, body } = input
  const { type, params } = checkParams(types, body)
  const metadata = scrubSecrets(body.metadata ?? {}) as Record<string, unknown>
  // What was taken on once may be retried, whatever the limits are by now.
  if (input.retryOf === undefined) checkSizes(type, params, metadata)
  const submission: Submission = {
    userId,
    type: body.type,
    provider: type.provider,
    params,
    metadata,
    conversationId: body.conversation?.id ?? body.conversationId ?? null,
    ...(body.conversation ? { conversation: body.conversation } : {}),
    placeholderId: body.placeholderId ?? null,
    retryOf: input.retryOf ?? null,
    lane: input.lane ?? 'free_default',
    priority: PRIORITIES[body.priority ?? input.priority ?? 'normal'],
  }
  return {
    input,
    submission,
    key: keyOf(input),
    type,
    adoption: readAdoption(body, type, Date.now()),
    deadlineMs: boundDeadline(type, input),
  }
}

/** What was asked for, within what the type allows. A retry is not refused because the type allows less by now. */
function boundDeadline(
  { deadlineMs, maxDeadlineMs = deadlineMs }: TaskType,
  { body, retryOf }: CreateTaskInput,
): number | null {
  const asked = body.deadlineMs ?? null
  if (asked === null || asked <= maxDeadlineMs) return asked
  if (retryOf !== undefined) return maxDeadlineMs
  throw new HoldfastError(
    'INVALID_REQUEST',
    `deadlineMs: a task of type "${body.type}" may run for ${maxDeadlineMs} ms at most.`,
  )
}

/** All of it is kept, listed and sent to every tab of its user, again and again. */
const MAX_METADATA_BYTES = 4_096

function checkSizes(type: TaskType, params: object, metadata: object): void {
  const maxBytes = maxParamsBytesOf(type)
  if (bytesOf(params) > maxBytes) {
    throw new HoldfastError(
      'INVALID_PARAMS',
      `params: at most ${Math.floor(maxBytes / 1024)} kB as JSON. Upload files elsewhere and pass their addresses.`,
    )
  }
  if (bytesOf(metadata) > MAX_METADATA_BYTES) {
    throw new HoldfastError('INVALID_REQUEST', `metadata: at most ${MAX_METADATA_BYTES / 1024} kB as JSON.`)
  }
}
