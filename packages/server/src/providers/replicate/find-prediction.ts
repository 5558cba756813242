import type { ApiReply, ApiRequest } from '../http-api/api-request.ts'
import { isOk } from '../http-api/api-request.ts'
import { isExternalId } from '../is-external-id.ts'
import type { FindOutcome } from '../provider.ts'
import { asRecord } from '../read-json.ts'

/** Their clock and ours may differ by as much. */
const CLOCK_SKEW_MS = 5 * 60_000
/** A create that was cut may still be on its way into the list. */
const SETTLED_MS = 60_000
/** A hundred each, newest first. */
const MOST_PAGES = 30

/**
 * Looks through the list for the prediction that has our callback URL, which carries a secret of this task's own:
 * nothing else is certain, since the same input may well be asked for twice.
 */
export async function findPrediction(
  { callbackUrl, sentAtMs }: { callbackUrl?: string; sentAtMs: number },
  ask: (call: ApiRequest) => Promise<ApiReply | null>,
  now: number,
): Promise<FindOutcome> {
  if (!callbackUrl)
    return { kind: 'inconclusive', reason: 'it was sent without a callback URL to know it by' }
  let isCovered = true
  let query: Record<string, string> = {}
  for (let page = 0; page < MOST_PAGES; page++) {
    const reply = await ask({ path: '/predictions', query })
    if (!reply || !isOk(reply)) {
      return { kind: 'inconclusive', reason: `the list could not be had (${reply?.status ?? 'no reply'})` }
    }
    const list = asRecord(reply.json)
    if (!list || !Array.isArray(list.results))
      return { kind: 'inconclusive', reason: 'the list cannot be read' }
    const predictions = list.results.map(asRecord)
    const ours = predictions.find((each) => each?.webhook === callbackUrl)
    if (isExternalId(ours?.id)) return { kind: 'found', externalId: ours.id }

    let isPast = false
    for (const each of predictions) {
      const createdAt = Date.parse(String(each?.created_at))
      if (createdAt < sentAtMs - CLOCK_SKEW_MS) isPast = true
      // Ours always has a webhook; one that does not show whether it has may be ours, unless made on their site.
      else if (each?.source !== 'web' && (!each || !('webhook' in each))) isCovered = false
    }
    const cursor = URL.parse(String(list.next))?.searchParams.get('cursor')
    if (isPast || !cursor) {
      if (!isCovered) return { kind: 'inconclusive', reason: 'the list does not show the callback URLs' }
      if (now - sentAtMs < SETTLED_MS) return { kind: 'inconclusive', reason: 'it may not be listed yet' }
      return { kind: 'absent' }
    }
    query = { cursor }
  }
  return { kind: 'inconclusive', reason: 'the list is too long' }
}
