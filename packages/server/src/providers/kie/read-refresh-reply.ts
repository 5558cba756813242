import type { HttpReply } from '../http-call.ts'
import type { RefreshOutcome } from '../provider.ts'
import { readEnvelope } from './read-envelope.ts'

/** As documented. The link is made for URLs of files that do not exist, too: only fetched bytes prove anything. */
const LINK_LIFETIME_MS = 20 * 60 * 1000

/** What a reply to `download-url` means. */
export function readRefreshReply(reply: Omit<HttpReply, 'kind'>): RefreshOutcome {
  const answer = readEnvelope(reply)
  if (answer.kind === 'ok') {
    const { data } = answer
    const url = typeof data === 'string' ? URL.parse(data) : null
    if (url?.protocol === 'https:' || url?.protocol === 'http:') {
      return { kind: 'refreshed', url: url.href, urlLifetimeMs: LINK_LIFETIME_MS }
    }
    return { kind: 'inconclusive', reason: 'the reply has no link' }
  }
  if (answer.kind === 'unreadable') {
    return { kind: 'inconclusive', reason: `HTTP ${answer.status} with a body that is not KIE's` }
  }
  const { code, saidBy } = answer
  // It knows the URL as none of its own, or no longer.
  if (saidBy === 'kie' && (code === 404 || code === 422)) {
    return { kind: 'gone', reason: `KIE makes no link for it any more (code ${code})` }
  }
  return { kind: 'inconclusive', reason: `${saidBy === 'kie' ? 'code' : 'HTTP'} ${code} on download-url` }
}
