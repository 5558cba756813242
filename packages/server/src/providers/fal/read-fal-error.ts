import type { ApiReply } from '../http-api/api-request.ts'
import { type ApiError, readCommonError } from '../http-api/read-error.ts'
import { asRecord } from '../read-json.ts'

const LONGEST_WAIT_S = 24 * 60 * 60

/**
 * What fal itself says in an error: `{detail}` as text or as a list of what is wrong, and for cancels `{status}`.
 * Null for what is not fal's.
 */
export function readFalError(reply: Pick<ApiReply, 'json' | 'headers' | 'status'>): ApiError | null {
  const body = asRecord(reply.json)
  const error = readCommonError(reply) ?? (typeof body?.status === 'string' ? { words: body.status } : null)
  if (!error) return null
  if (hasType(body?.detail, 'content_policy_violation')) return { ...error, code: 'CONTENT_REFUSED' }
  // An account without money is locked, not asked to pay.
  if (reply.status === 403 && /balance|billing|top up/i.test(error.words)) {
    return { ...error, code: 'PROVIDER_QUOTA' }
  }
  const reset = reply.headers['x-ratelimit-reset'] ?? ''
  if (reply.status === 429 && /^\d+$/.test(reset)) {
    return { ...error, retryAfterMs: Math.min(Number(reset), LONGEST_WAIT_S) * 1000 }
  }
  return error
}

function hasType(detail: unknown, type: string): boolean {
  return Array.isArray(detail) && detail.some((each) => asRecord(each)?.type === type)
}
