import type { HttpReply } from '../http-call.ts'
import type { QueryOutcome } from '../provider.ts'
import { parseRetryAfter } from '../retry-after.ts'
import { isPlainlyRunning } from './is-plainly-running.ts'
import { readEnvelope } from './read-envelope.ts'
import { readRecord } from './read-record.ts'

/** What a reply to `recordInfo` means. Whatever is not plainly about this task leaves it as it is (P4). */
export function readQueryReply(
  reply: Omit<HttpReply, 'kind'>,
  externalId: string,
  now: number,
  onUnknownState: (state: string) => void = () => undefined,
): QueryOutcome {
  if (reply.status === 200 && isPlainlyRunning(reply.body, externalId))
    return { kind: 'running', progress: null }
  const answer = readEnvelope(reply)
  if (answer.kind === 'ok') return readRecord(answer.data, externalId, now, onUnknownState)

  const retryAfterMs = parseRetryAfter(reply.headers['retry-after'], now)
  if (answer.kind === 'unreadable') {
    return {
      kind: 'inconclusive',
      reason: `HTTP ${answer.status} with a body that is not KIE's`,
      retryAfterMs,
    }
  }
  const { code, saidBy } = answer
  if (saidBy === 'kie') {
    // 422 is "recordInfo is null": unknown, or not visible yet. A bare 404 is a proxy or a wrong base URL and
    // must not end work that KIE has finished.
    if (code === 404 || code === 422) return { kind: 'not-found' }
    // "Generation failed". Where the record comes with it, it has the better words.
    if (code === 501) {
      return readRecord(answer.data ?? { state: 'fail', failMsg: answer.message }, externalId, now)
    }
  }
  // 401, 402 and 403 too: a wrong key is for the operator to mend, and the user's task goes on meanwhile.
  return {
    kind: 'inconclusive',
    reason: `${saidBy === 'kie' ? 'code' : 'HTTP'} ${code} on query`,
    retryAfterMs: retryAfterMs ?? (code === 429 ? 10_000 : null),
  }
}
