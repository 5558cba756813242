const HEAD = '{"code":200,"msg":"success","data":{"taskId":"'
const MODEL = '","model":"'
const UNFINISHED = ['","state":"generating"', '","state":"queuing"', '","state":"waiting"']
/** Keys that count and come a second time, a progress to be read, or an escape that may spell one of them. */
const NEEDS_READING = /"(?:code|data|taskId|state|progress)"|\\u00/g
const NEEDS_ESCAPING = /["\\]/

/**
 * Whether a reply to `recordInfo` is what nearly every poll gets: this task's record, in the order in which KIE writes
 * it, unfinished and without a progress. Told by the text alone, which is many times cheaper than parsing it.
 *
 * In JSON a quote inside a string is escaped, so a quoted key found in the text is never part of somebody's prompt.
 * Whatever looks the least bit different is not "plain" and gets parsed.
 */
export function isPlainlyRunning(body: string, externalId: string): boolean {
  if (!body.startsWith(HEAD) || !body.startsWith(externalId, HEAD.length)) return false
  const model = HEAD.length + externalId.length
  if (!body.startsWith(MODEL, model) || NEEDS_ESCAPING.test(externalId)) return false
  const state = body.indexOf('"', model + MODEL.length)
  for (const unfinished of UNFINISHED) {
    if (!body.startsWith(unfinished, state)) continue
    NEEDS_READING.lastIndex = state + unfinished.length
    return body.endsWith('}}') && !NEEDS_READING.test(body)
  }
  return false
}
