import type { HttpReply } from '../http-call.ts'
import { isContentRefusal } from '../is-content-refusal.ts'
import { isExternalId } from '../is-external-id.ts'
import { CONTENT_REFUSED, CREDIT_SPENT, KEY_REFUSED, refusedText, unavailableText } from '../messages.ts'
import type { CreateOutcome } from '../provider.ts'
import { asRecord } from '../read-json.ts'
import { parseRetryAfter } from '../retry-after.ts'
import { readEnvelope } from './read-envelope.ts'

/** 20 creates per 10 s; what is over is rejected, not queued, and no `Retry-After` is documented. */
const RATE_WINDOW_MS = 10_000
/** A guess: maintenance has no documented length, and asking twice a minute hurts nobody. */
const MAINTENANCE_MS = 30_000

/** What a reply to `createTask` means. The question behind every branch: can there be a task now? */
export function readCreateReply(reply: Omit<HttpReply, 'kind'>, now: number): CreateOutcome {
  const answer = readEnvelope(reply)
  if (answer.kind === 'unreadable') {
    return { kind: 'unknown', reason: `HTTP ${answer.status} with a body that is not KIE's` }
  }
  if (answer.kind === 'ok') {
    const id = asRecord(answer.data)?.taskId
    if (isExternalId(id)) return { kind: 'accepted', externalId: id }
    return { kind: 'unknown', reason: 'accepted, but the reply names no task' }
  }

  const { code, message, saidBy } = answer
  const waitOr = (otherwise: number) => parseRetryAfter(reply.headers['retry-after'], now) ?? otherwise
  switch (code) {
    case 401:
    case 403:
      return { kind: 'refused', code: 'PROVIDER_AUTH', message: KEY_REFUSED, retryable: false }
    case 402:
      return { kind: 'refused', code: 'PROVIDER_QUOTA', message: CREDIT_SPENT, retryable: false }
    case 429:
      return { kind: 'not-accepted', reason: 'rate limited (429)', retryAfterMs: waitOr(RATE_WINDOW_MS) }
    case 433:
      return { kind: 'not-accepted', reason: 'too many at once (433)', retryAfterMs: waitOr(RATE_WINDOW_MS) }
    case 455:
      return { kind: 'not-accepted', reason: 'maintenance (455)', retryAfterMs: waitOr(MAINTENANCE_MS) }
    case 408:
      // A time-out somewhere on the way says nothing about what arrived.
      return { kind: 'unknown', reason: 'HTTP 408 on create' }
  }
  if (isContentRefusal(message)) {
    return { kind: 'refused', code: 'CONTENT_REFUSED', message: CONTENT_REFUSED, retryable: false }
  }
  if (code >= 400 && code < 500) {
    return { kind: 'refused', code: 'SUBMIT_REFUSED', message: refusedText(message), retryable: false }
  }
  // KIE itself saying 500 is a definite no, seen for bad parameters as well as for real trouble. One repetition
  // might help, but whether to pay for it is for the user to say.
  if (saidBy === 'kie' && (code === 500 || code === 501)) {
    return { kind: 'refused', code: 'SUBMIT_REFUSED', message: unavailableText(message), retryable: true }
  }
  if (saidBy === 'kie' && code === 505) {
    return { kind: 'refused', code: 'SUBMIT_REFUSED', message: refusedText(message), retryable: false }
  }
  return { kind: 'unknown', reason: `${saidBy === 'kie' ? 'code' : 'HTTP'} ${code} on create` }
}
