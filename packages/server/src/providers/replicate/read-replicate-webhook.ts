import { type OpenApiOptions, openApi } from '../http-api/open-api.ts'
import { isExternalId } from '../is-external-id.ts'
import type { WebhookCall, WebhookReading } from '../provider.ts'
import { asRecord, parseJson } from '../read-json.ts'
import { createKeptKeys } from '../webhook-signatures/kept-keys.ts'
import { checkStandardWebhook } from '../webhook-signatures/standard-webhooks.ts'

export interface WebhookReaderOptions
  extends Pick<OpenApiOptions, 'name' | 'baseUrl' | 'apiKey' | 'limits' | 'pool' | 'now'> {
  /** Where it is not set, it is asked for. */
  secret: string | undefined
}

/** Reads webhooks: the body is a prediction, signed as a whole. */
export function createWebhookReader({ secret, ...options }: WebhookReaderOptions) {
  const api = openApi(options)
  const stopped = new AbortController()

  const fetchSecret = async (): Promise<string | null> => {
    const answer = await api.send({ path: '/webhooks/default/secret' }, stopped.signal)
    const key =
      answer.kind === 'reply' && answer.reply.status === 200 ? asRecord(answer.reply.json)?.key : null
    return typeof key === 'string' && key !== '' ? key : null
  }
  const checkWith = createKeptKeys<string>({
    now: options.now,
    fetchKeys: secret === undefined ? fetchSecret : async () => secret,
  })

  return {
    async read(call: WebhookCall): Promise<WebhookReading> {
      let check: ReturnType<typeof checkStandardWebhook> | undefined
      const known = await checkWith((key) => {
        check = checkStandardWebhook(key, call)
        return check.kind !== 'forged'
      })
      if (known === 'no-keys' || !check) {
        return { kind: 'unreadable', reason: 'the secret to check it with could not be had from Replicate' }
      }
      if (check.kind !== 'genuine') return check
      const id = asRecord(parseJson(Buffer.from(call.body).toString('utf8')))?.id
      if (!isExternalId(id)) return { kind: 'unreadable', reason: 'it names no prediction' }
      return { kind: 'about', externalId: id, deliveryId: call.headers['webhook-id'] ?? null, isSigned: true }
    },
    async close() {
      stopped.abort()
      await api.close()
    },
  }
}
