import { isExternalId } from '../is-external-id.ts'
import type { WebhookCall, WebhookReading } from '../provider.ts'
import { asRecord, parseJson } from '../read-json.ts'
import { checkStandardWebhook } from '../webhook-signatures/standard-webhooks.ts'

/** An event of the project: signed, and with no more in it than the id of the video. */
export function readVideoWebhook(call: WebhookCall, secret: string): WebhookReading {
  const check = checkStandardWebhook(secret, call)
  if (check.kind !== 'genuine') return check
  const event = asRecord(parseJson(Buffer.from(call.body).toString('utf8')))
  if (typeof event?.type !== 'string') return { kind: 'unreadable', reason: 'the event has no type' }
  // A project has events of other kinds too.
  if (!event.type.startsWith('video.')) return { kind: 'irrelevant' }
  const id = asRecord(event.data)?.id
  if (!isExternalId(id)) return { kind: 'unreadable', reason: 'the event names no video' }
  return { kind: 'about', externalId: id, deliveryId: call.headers['webhook-id'] ?? null, isSigned: true }
}
