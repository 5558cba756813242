import { contentTypeOfUrl } from '../content-type-of-url.ts'
import { isContentRefusal } from '../is-content-refusal.ts'
import { CONTENT_REFUSED, failedText } from '../messages.ts'
import type { QueryOutcome } from '../provider.ts'
import { asRecord, tidyText } from '../read-json.ts'
import { readResultUrls } from './read-result-urls.ts'

/**
 * Sources disagree on how long result URLs live: 24 h documented, 403 seen after 40 min and after 20 min. The
 * tightest counts.
 */
const URL_LIFETIME_MS = 20 * 60 * 1000

/**
 * `success` without a readable result may be a record that is still being written, and failing then would throw
 * away paid work; one that stays so is broken. The record's own completion time tells the two apart without
 * keeping state here, and two minutes leave room for clocks that differ.
 */
const RESULT_GRACE_MS = 2 * 60 * 1000

/** These say that the request itself is wrong, so that the same request would fail again. */
const OUR_FAULT = new Set(['400', '413', '422', '451'])

const RUNNING = new Set(['waiting', 'queuing', 'generating'])

/** What `recordInfo`'s `data` says about the task we asked for. */
export function readRecord(
  data: unknown,
  externalId: string,
  now: number,
  onUnknownState: (state: string) => void = () => undefined,
): QueryOutcome {
  const record = asRecord(data)
  if (!record || typeof record.state !== 'string') return nothing('the record has no state')
  // Another task's result must never be shown as this one's.
  if (record.taskId != null && String(record.taskId) !== externalId) {
    return nothing('the record is about another task')
  }
  if (record.state === 'success') return readSuccess(record, now)
  if (record.state === 'fail') return readFailure(record)
  // Any state that KIE may add is not over yet.
  if (!RUNNING.has(record.state)) onUnknownState(record.state)
  return { kind: 'running', progress: readProgress(record.progress) }
}

function readSuccess(record: Record<string, unknown>, now: number): QueryOutcome {
  const urls = readResultUrls(record.resultJson)
  if (urls.length > 0) {
    return {
      kind: 'succeeded',
      outputs: urls.map((url) => ({
        url,
        contentType: contentTypeOfUrl(url),
        urlLifetimeMs: URL_LIFETIME_MS,
      })),
      ...(typeof record.creditsConsumed === 'number'
        ? { usage: { creditsConsumed: record.creditsConsumed } }
        : {}),
    }
  }
  const completedAt = typeof record.completeTime === 'number' ? record.completeTime : 0
  if (completedAt <= 0 || now - completedAt < RESULT_GRACE_MS) {
    return nothing('success was reported, but its result cannot be read yet')
  }
  return {
    kind: 'failed',
    code: 'RESULT_UNREADABLE',
    message: 'The generation finished, but its result could not be read. Try again.',
    retryable: true,
  }
}

function readFailure(record: Record<string, unknown>): QueryOutcome {
  const code = tidyText(typeof record.failCode === 'number' ? String(record.failCode) : record.failCode)
  const words = tidyText(record.failMsg)
  if (isContentRefusal(words, code)) {
    return { kind: 'failed', code: 'CONTENT_REFUSED', message: CONTENT_REFUSED, retryable: false }
  }
  const retryable = !OUR_FAULT.has(code)
  return { kind: 'failed', code: 'PROVIDER_FAILED', message: failedText(words, retryable), retryable }
}

/** 0–100; documented for some video models only. */
function readProgress(value: unknown): number | null {
  const progress = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof progress !== 'number' || !Number.isFinite(progress)) return null
  return Math.round(Math.min(Math.max(progress, 0), 100))
}

function nothing(reason: string): QueryOutcome {
  return { kind: 'inconclusive', reason, retryAfterMs: null }
}
