import { isExternalId } from '../is-external-id.ts'
import type { WebhookCall, WebhookReading } from '../provider.ts'
import { asRecord, parseJson } from '../read-json.ts'
import { checkKieCallback } from '../webhook-signatures/kie-hmac.ts'

/**
 * What a callback tells: which task to look at. Its body is not signed even with a key, and without one the secret in
 * the address is the only proof, so nothing else in it counts.
 */
export function readCallback(call: WebhookCall, hmacKey: string | undefined): WebhookReading {
  const data = asRecord(asRecord(parseJson(Buffer.from(call.body).toString('utf8')))?.data)
  // Market callbacks say `taskId`, older ones `task_id`.
  const taskId = data?.taskId ?? data?.task_id
  if (!isExternalId(taskId)) return { kind: 'unreadable', reason: 'the callback names no task' }
  const check = hmacKey === undefined ? null : checkKieCallback(hmacKey, taskId, call)
  if (check && check.kind !== 'genuine') return check
  // What is sent again has been signed anew; the same signature twice is a replay.
  const deliveryId = (check && call.headers['x-webhook-signature']) ?? null
  return { kind: 'about', externalId: taskId, deliveryId, isSigned: check !== null }
}
