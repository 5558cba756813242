import { createHmac } from 'node:crypto'
import type { WebhookCall } from '../provider.ts'
import { checkTime, isSameText, readTimestamp, type SignatureCheck } from './signature-check.ts'

/** KIE signs the task id and the time, in seconds; never the body. */
export function signKieCallback(key: string, taskId: string, timestamp: number): string {
  return signatureOf(key, taskId, String(timestamp))
}

/** Checks `x-webhook-timestamp` and `x-webhook-signature` for the task that the body names. */
export function checkKieCallback(
  key: string,
  taskId: string,
  { headers, receivedAtMs }: Pick<WebhookCall, 'headers' | 'receivedAtMs'>,
): SignatureCheck {
  const timestamp = headers['x-webhook-timestamp']
  const signature = headers['x-webhook-signature']
  const signedAtMs = readTimestamp(timestamp)
  if (!timestamp || !signature || signedAtMs === null) {
    return { kind: 'forged', reason: 'it lacks an x-webhook-timestamp or an x-webhook-signature' }
  }
  if (!isSameText(signature, signatureOf(key, taskId, timestamp))) {
    return { kind: 'forged', reason: 'the signature is not for this task and time' }
  }
  return checkTime(signedAtMs, receivedAtMs)
}

function signatureOf(key: string, taskId: string, timestamp: string): string {
  return createHmac('sha256', key).update(`${taskId}.${timestamp}`).digest('base64')
}
