import { type ApiReply, type ApiRequest, isOk } from '../http-api/api-request.ts'
import type { CreateRequest, FindOutcome } from '../provider.ts'
import { asRecord } from '../read-json.ts'

const PAGE = 20
/** How long the list may lag behind, and how far the vendor's clock may be off ours. */
const SETTLES_MS = 60_000
const CLOCKS_DIFFER_MS = 5 * 60_000

/**
 * Looks for a video whose create was not answered. Nothing in a video certainly says whose it is (two tasks may have
 * the same prompt, and gateways rewrite prompts), so none is ever taken for ours. But if the list shows older videos and
 * not a single one since, then ours is not there either. A list that shows nothing at all proves nothing: some gateways
 * always answer so.
 */
export async function findVideo(
  { sentAtMs }: CreateRequest & { sentAtMs: number },
  ask: (call: ApiRequest) => Promise<ApiReply | null>,
  now: number,
): Promise<FindOutcome> {
  if (now - sentAtMs < SETTLES_MS) return nothing('it may not be in the list yet')
  const reply = await ask({ path: '/videos', query: { order: 'desc', limit: PAGE } })
  const videos = reply && isOk(reply) ? asRecord(reply.json)?.data : undefined
  if (!Array.isArray(videos)) return nothing(reply ? `HTTP ${reply.status} to the list` : 'no answer')
  const times = videos.map((video) => Number(asRecord(video)?.created_at) * 1000)
  const isOld = times.every((at) => at < sentAtMs - CLOCKS_DIFFER_MS)
  if (isOld && showsTheNewest(times)) return { kind: 'absent' }
  return nothing('nothing in the list tells whether it is ours')
}

/** Whether there can be no newer one than the first. Some gateways do not care for `order`. */
function showsTheNewest(times: number[]): boolean {
  const [first = Number.NaN] = times
  const isDescending = times.every((at, index) => index === 0 || at <= (times[index - 1] ?? 0))
  return times.length > 0 && isDescending && (times.length < PAGE || first > (times.at(-1) ?? first))
}

function nothing(reason: string): FindOutcome {
  return { kind: 'inconclusive', reason }
}
