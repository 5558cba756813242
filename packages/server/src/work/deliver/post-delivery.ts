import { request } from 'undici'
import { signStandardWebhook } from '../../providers/webhook-signatures/standard-webhooks.ts'
import type { WebhookEndpoint } from './endpoint.ts'

export type DeliveryOutcome =
  | { kind: 'taken' }
  /** 410: the receiver wants no more of this. */
  | { kind: 'unwanted' }
  | { kind: 'failed'; reason: string; retryAfterMs: number | null }

const ANSWER_WITHIN_MS = 15_000

/** Sends one webhook by the Standard Webhooks scheme. Anything but a 2xx counts as not taken; redirects are not followed. */
export async function postDelivery(
  { url, secret }: Pick<WebhookEndpoint, 'url' | 'secret'>,
  { id, body, nowMs }: { id: string; body: string; nowMs: number },
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const timestamp = Math.floor(nowMs / 1000)
  try {
    const answer = await request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Holdfast',
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signStandardWebhook(secret, { id, timestamp, body }),
      },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
    })
    // Nobody reads it, but the connection is only free again when it has been.
    await answer.body.dump({ limit: 64 * 1024 })
    if (answer.statusCode >= 200 && answer.statusCode < 300) return { kind: 'taken' }
    if (answer.statusCode === 410) return { kind: 'unwanted' }
    const seconds = Number(answer.headers['retry-after'])
    return {
      kind: 'failed',
      reason: `it answered ${answer.statusCode}`,
      retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 3_600) * 1_000 : null,
    }
  } catch (error) {
    return {
      kind: 'failed',
      reason: error instanceof Error ? error.message : 'it could not be reached',
      retryAfterMs: null,
    }
  }
}
