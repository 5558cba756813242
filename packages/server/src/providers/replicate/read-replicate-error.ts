import type { ApiReply } from '../http-api/api-request.ts'
import { type ApiError, readCommonError } from '../http-api/read-error.ts'

/** "Your rate limit resets in ~9s", "Expected available in 12 seconds". */
const WAIT = /\bin\s*~?\s*(\d{1,6}(?:\.\d+)?)\s*(ms|s|m)?/i

/** Errors are `{title, detail, status}`; how long to wait after a 429 is told in words only. */
export function readReplicateError(reply: ApiReply): ApiError | null {
  const error = readCommonError(reply)
  const [, amount, unit] = (reply.status === 429 && WAIT.exec(error?.words ?? '')) || []
  if (!error || amount === undefined) return error
  const unitMs = unit === 'ms' ? 1 : unit === 'm' ? 60_000 : 1_000
  return { ...error, retryAfterMs: Math.ceil(Number(amount) * unitMs) }
}
