import { type ApiReply, type ApiRequest, isOk } from '../http-api/api-request.ts'
import { isExternalId } from '../is-external-id.ts'
import type { CreateRequest, FindOutcome } from '../provider.ts'
import { asRecord } from '../read-json.ts'

const PAGE = 100
/** A create that is looked for is minutes old. An account that made more since is not read to the end. */
const MOST_PAGES = 20
/** How long the list may lag behind, and how far the vendor's clock may be off ours. */
const SETTLES_MS = 60_000
const CLOCKS_DIFFER_MS = 5 * 60_000

/**
 * Looks for a generation by its callback URL, which has a secret of this task's own in it, so that a hit is certain.
 * It is certainly absent only if the whole list since before it was sent has been read, some time after.
 */
export async function findGeneration(
  { callbackUrl, sentAtMs }: CreateRequest & { sentAtMs: number },
  ask: (call: ApiRequest) => Promise<ApiReply | null>,
  now: number,
): Promise<FindOutcome> {
  if (!callbackUrl) return nothing('without a callback URL nothing in the list identifies the task')
  let newestFirst = true
  let lastAt = Number.POSITIVE_INFINITY

  for (let page = 0; page < MOST_PAGES; page++) {
    const reply = await ask({ path: '/generations', query: { limit: PAGE, offset: page * PAGE } })
    const list = reply && isOk(reply) ? asRecord(reply.json) : null
    if (!Array.isArray(list?.generations)) {
      return nothing(reply ? `HTTP ${reply.status} to the list` : 'no answer')
    }
    for (const each of list.generations) {
      const generation = asRecord(each)
      if (asRecord(generation?.request)?.callback_url === callbackUrl && isExternalId(generation?.id)) {
        return { kind: 'found', externalId: generation.id }
      }
      const createdAt = Date.parse(String(generation?.created_at))
      newestFirst = newestFirst && createdAt <= lastAt
      lastAt = createdAt
    }
    const isComplete = list.has_more === false
    // The order is not documented; where it is seen to be newest first, older pages cannot have it.
    const isPast = newestFirst && lastAt < sentAtMs - CLOCKS_DIFFER_MS
    if (isComplete || isPast) {
      return now - sentAtMs < SETTLES_MS ? nothing('it may not be in the list yet') : { kind: 'absent' }
    }
  }
  return nothing('the list is too long to be read')
}

function nothing(reason: string): FindOutcome {
  return { kind: 'inconclusive', reason }
}
