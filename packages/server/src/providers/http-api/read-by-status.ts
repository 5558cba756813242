import { isContentRefusal } from '../is-content-refusal.ts'
import type { CreateOutcome, QueryOutcome } from '../provider.ts'
import { parseRetryAfter } from '../retry-after.ts'
import type { ApiReply } from './api-request.ts'
import type { ApiError } from './read-error.ts'
import { toCreateOutcome } from './readings.ts'

/**
 * What a reply to a create means that is not a 2xx. The question behind every branch: can there be a task now? Only
 * a 4xx is a no; a 5xx may come from a proxy in front of a vendor that has taken the request.
 */
export function createOutcomeByStatus(
  reply: ApiReply,
  error: ApiError | null,
  rateWindowMs: number,
): CreateOutcome {
  const { status } = reply
  const words = error?.words ?? ''
  if (error?.code) {
    const { code, retryable = false } = error
    return toCreateOutcome({ kind: 'refused', words, code, retryable })
  }
  if (status === 429) {
    const reason = withWords('rate limited (429)', words)
    return { kind: 'not-accepted', reason, retryAfterMs: waitOf(reply, error) ?? rateWindowMs }
  }
  // A 408 is a time-out somewhere on the way, and says nothing about what arrived.
  if (status === 408 || status < 400 || status >= 500) {
    return { kind: 'unknown', reason: withWords(`HTTP ${status} on create`, words) }
  }
  if (status === 402) return toCreateOutcome({ kind: 'refused', words, code: 'PROVIDER_QUOTA' })
  if (status === 401 || (status === 403 && !isContentRefusal(words))) {
    return toCreateOutcome({ kind: 'refused', words, code: 'PROVIDER_AUTH' })
  }
  return toCreateOutcome({ kind: 'refused', words })
}

/** What a reply to a query means that is not a 2xx: at most that the vendor does not know the task (P4). */
export function queryOutcomeByStatus(
  reply: ApiReply,
  error: ApiError | null,
  rateWindowMs: number,
): QueryOutcome {
  const { status } = reply
  // A bare 404 is a proxy's or a wrong base URL, and must not end work that the vendor has finished.
  if (error && (status === 404 || status === 410)) return { kind: 'not-found' }
  // 401, 402 and 403 too: a wrong key is for the operator to mend, and the user's task goes on meanwhile.
  return {
    kind: 'inconclusive',
    reason: withWords(`HTTP ${status} on query`, error?.words ?? ''),
    retryAfterMs: waitOf(reply, error) ?? (status === 429 ? rateWindowMs : null),
  }
}

function waitOf({ headers, now }: ApiReply, error: ApiError | null): number | null {
  return parseRetryAfter(headers['retry-after'], now) ?? error?.retryAfterMs ?? null
}

function withWords(reason: string, words: string): string {
  return words ? `${reason}: ${words}` : reason
}
