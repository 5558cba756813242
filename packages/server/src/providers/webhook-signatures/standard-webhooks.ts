import { createHmac } from 'node:crypto'
import type { WebhookCall } from '../provider.ts'
import { checkTime, isSameText, readTimestamp, type SignatureCheck } from './signature-check.ts'

/** Rotating a secret makes two; more than this are somebody trying. */
const MOST_SIGNATURES = 10

/**
 * The signature of one webhook by the Standard Webhooks scheme, as Replicate and OpenAI use it: `v1,` and base64.
 * The part of the secret after `whsec_` is base64; a secret without that prefix is used as it is.
 */
export function signStandardWebhook(
  secret: string,
  { id, timestamp, body }: { id: string; timestamp: number; body: string | Uint8Array },
): string {
  return signatureOf(secret, id, String(timestamp), body)
}

/** Checks `webhook-id`, `webhook-timestamp` and `webhook-signature` against the raw body. */
export function checkStandardWebhook(
  secret: string,
  { headers, body, receivedAtMs }: Pick<WebhookCall, 'headers' | 'body' | 'receivedAtMs'>,
): SignatureCheck {
  const id = headers['webhook-id']
  const timestamp = headers['webhook-timestamp']
  const signatures = headers['webhook-signature']
  const signedAtMs = readTimestamp(timestamp)
  if (!id || !timestamp || !signatures || signedAtMs === null) {
    return { kind: 'forged', reason: 'it lacks a webhook-id, webhook-timestamp or webhook-signature' }
  }
  const expected = signatureOf(secret, id, timestamp, body)
  const given = signatures.split(' ', MOST_SIGNATURES)
  if (!given.some((signature) => isSameText(signature, expected))) {
    return { kind: 'forged', reason: 'no signature is ours' }
  }
  return checkTime(signedAtMs, receivedAtMs)
}

function signatureOf(secret: string, id: string, timestamp: string, body: string | Uint8Array): string {
  const prefix = 'whsec_'
  const key = secret.startsWith(prefix)
    ? Buffer.from(secret.slice(prefix.length), 'base64')
    : Buffer.from(secret)
  const digest = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  return `v1,${digest}`
}
