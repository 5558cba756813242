import type { FailureCode } from '@holdfast/shared'
import { asRecord, tidyText } from '../read-json.ts'
import type { ApiReply } from './api-request.ts'

/** What the vendor itself says in an error reply. */
export interface ApiError {
  /** Its words, in one line; may be empty. */
  words: string
  /** Set where the reply says which failure it is, whatever its status. A create then is a definite no. */
  code?: FailureCode
  /** Whether the same request may work later. Counts with `code` only. */
  retryable?: boolean
  /** How long to wait, where the reply says so elsewhere than in `Retry-After`. */
  retryAfterMs?: number
}

/**
 * Finds the words in the shapes that most APIs use: `{error: "…"}`, `{error: {message}}`, `{message}`, `{detail}`.
 * Null for anything else, such as the HTML page of a proxy, which knows nothing about the task.
 */
export function readCommonError({ json }: Pick<ApiReply, 'json'>): ApiError | null {
  const body = asRecord(json)
  if (!body) return null
  const said = [asRecord(body.error)?.message, body.error, body.message, body.detail, firstOf(body.detail)]
  const found = said.filter((each): each is string => typeof each === 'string')
  return found.length > 0 ? { words: found.map(tidyText).find((words) => words !== '') ?? '' } : null
}

/** Validators of many frameworks list what is wrong: `{detail: [{msg}]}`. */
function firstOf(detail: unknown): unknown {
  const first: unknown = Array.isArray(detail) ? detail[0] : undefined
  return asRecord(first)?.msg ?? first
}
