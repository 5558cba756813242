import { createHash } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { openApi } from '../http-api/open-api.ts'
import type { ProviderLimits, WebhookCall, WebhookReading } from '../provider.ts'
import { asRecord, parseJson } from '../read-json.ts'
import { createEd25519Jwks } from '../webhook-signatures/ed25519-jwks.ts'
import { checkTime, readTimestamp } from '../webhook-signatures/signature-check.ts'
import { fromExternalId, isModel, toExternalId } from './external-id.ts'

export interface FalWebhookOptions {
  /** Where the public keys are. */
  keysUrl: string
  /** The models that are used; if there is only one, it is the one that a webhook is about. */
  models: string[]
  /** Webhooks for other accounts are not ours. @default any */
  userId: string | undefined
  limits: ProviderLimits
  pool: Dispatcher | undefined
  now: () => number
}

/** What the model is called in the query of a callback URL: webhooks name the request only. */
const MODEL_PARAMETER = 'model'

/** The callback URL that tells later which model the request was sent to. */
export function callbackUrlFor(callbackUrl: string, model: string): string {
  const url = new URL(callbackUrl)
  url.searchParams.set(MODEL_PARAMETER, model)
  return url.href
}

/** What fal signs: who, what, when, and the hash of the body, a line each. */
export function signedMessage(
  requestId: string,
  userId: string,
  timestamp: string,
  body: Uint8Array,
): Buffer {
  const hash = createHash('sha256').update(body).digest('hex')
  return Buffer.from(`${requestId}\n${userId}\n${timestamp}\n${hash}`)
}

export function createFalWebhookReader({ keysUrl, models, userId, limits, pool, now }: FalWebhookOptions) {
  const stopped = new AbortController()
  const keys = openApi({ name: 'fal', baseUrl: keysUrl, apiKey: null, limits, pool, now })
  const check = createEd25519Jwks({
    now,
    async fetchKeySet() {
      const answer = await keys.send({ path: '' }, stopped.signal)
      return answer.kind === 'reply' && answer.reply.status === 200 ? answer.reply.body : null
    },
  })
  const onlyModel = new Set(models).size === 1 ? models[0] : undefined

  async function checkCall({ headers, body, receivedAtMs }: WebhookCall): Promise<WebhookReading | null> {
    const requestId = headers['x-fal-webhook-request-id']
    const user = headers['x-fal-webhook-user-id']
    const timestamp = headers['x-fal-webhook-timestamp']
    const signature = headers['x-fal-webhook-signature']
    const signedAtMs = readTimestamp(timestamp)
    if (!requestId || !user || !timestamp || !signature || signedAtMs === null) {
      return { kind: 'forged', reason: 'it lacks one of the four x-fal-webhook headers' }
    }
    // In one form only: the same bytes in capitals would be another text with the same meaning.
    if (!/^[0-9a-f]{128}$/.test(signature)) return { kind: 'forged', reason: 'the signature is none' }
    const known = await check(signedMessage(requestId, user, timestamp, body), Buffer.from(signature, 'hex'))
    if (known === 'no-keys') {
      return { kind: 'unreadable', reason: 'the keys to check it with could not be had from fal' }
    }
    if (known === 'forged') return { kind: 'forged', reason: 'none of the keys of fal made the signature' }
    const time = checkTime(signedAtMs, receivedAtMs)
    if (time.kind !== 'genuine') return time
    return userId !== undefined && user !== userId ? { kind: 'irrelevant' } : null
  }

  return {
    async read(call: WebhookCall): Promise<WebhookReading> {
      const refused = await checkCall(call)
      if (refused) return refused
      // The gateway's id changes when fal tries again; this one does not.
      const requestId = asRecord(parseJson(Buffer.from(call.body).toString('utf8')))?.request_id
      const model = URL.parse(call.url ?? '')?.searchParams.get(MODEL_PARAMETER) ?? onlyModel
      if (typeof requestId !== 'string' || !isModel(model)) {
        return { kind: 'unreadable', reason: 'it names no request, or its address no model' }
      }
      const externalId = toExternalId({ model, requestId })
      if (!fromExternalId(externalId)) return { kind: 'unreadable', reason: 'the id of the request is none' }
      // Nothing names a delivery, but what is sent again has been signed anew.
      const deliveryId = call.headers['x-fal-webhook-signature'] ?? null
      return { kind: 'about', externalId, deliveryId, isSigned: true }
    },
    async close() {
      stopped.abort()
      await keys.close()
    },
  }
}
