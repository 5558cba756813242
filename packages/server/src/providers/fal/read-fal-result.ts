import type { ApiReply } from '../http-api/api-request.ts'
import { queryOutcomeByStatus } from '../http-api/read-by-status.ts'
import type { OutputReading, QueryReading } from '../http-api/readings.ts'
import { isWebUrl } from '../is-web-url.ts'
import { asRecord } from '../read-json.ts'
import { readFalError } from './read-fal-error.ts'

const MOST_FILES = 100
const DEEPEST = 6
const RATE_WINDOW_MS = 10_000

/** What the reply to `GET …/requests/{id}` says, once the status is completed. */
export function readFalResult(reply: ApiReply): QueryReading | { kind: 'maybe-failed'; words: string } {
  const { status, headers, json } = reply
  if (status >= 200 && status < 300) {
    if (json === undefined) throw new Error('the result is no JSON')
    const files = filesIn(json)
    return { kind: 'succeeded', outputs: files.length > 0 ? files : urlsIn(json).map((url) => ({ url })) }
  }
  const error = readFalError(reply)
  const words = error?.words ?? ''
  if (/still in progress/i.test(words)) return { kind: 'running' }
  // A proxy's, or about us instead of about the request: nothing was learned.
  if (!error || status < 400 || [401, 402, 403, 408, 429].includes(status)) {
    return queryOutcomeByStatus(reply, error, RATE_WINDOW_MS)
  }
  if (status === 404 || status === 410) {
    return {
      kind: 'failed',
      code: 'RESULT_UNREADABLE',
      words: 'the result is no longer kept',
      retryable: true,
    }
  }
  const code = error.code ? { code: error.code } : {}
  const failed = (retryable: boolean): QueryReading => ({
    kind: 'failed',
    words,
    ...code,
    retryable: saysRetryable(headers) ?? retryable,
  })
  if (status < 500) return failed(false)
  // The time to start that was set for the request is over; it would be over again.
  if (headers['x-fal-request-timeout-type'] === 'user') return failed(false)
  const isAboutRequest =
    headers['x-fal-error-type'] !== undefined ||
    headers['x-fal-retryable'] !== undefined ||
    typeof asRecord(json)?.error_type === 'string'
  return isAboutRequest ? failed(true) : { kind: 'maybe-failed', words }
}

function saysRetryable(headers: Record<string, string>): boolean | null {
  const value = headers['x-fal-retryable']?.toLowerCase()
  return value === 'true' || value === '1' ? true : value === 'false' || value === '0' ? false : null
}

/** The files in a result, wherever they are: records with a URL, most of them with a content type. */
function filesIn(value: unknown, depth = 0): OutputReading[] {
  if (typeof value !== 'object' || value === null || depth >= DEEPEST) return []
  const { url, content_type: type } = value as Record<string, unknown>
  if (isWebUrl(url)) {
    const contentType = typeof type === 'string' && /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : null
    return [{ url, contentType }]
  }
  return Object.values(value)
    .flatMap((part) => filesIn(part, depth + 1))
    .slice(0, MOST_FILES)
}

function urlsIn(value: unknown, depth = 0): string[] {
  if (isWebUrl(value)) return [value]
  if (typeof value !== 'object' || value === null || depth >= DEEPEST) return []
  return Object.values(value)
    .flatMap((part) => urlsIn(part, depth + 1))
    .slice(0, MOST_FILES)
}
