import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import { createHttpApi } from '../http-api/http-api.ts'
import { isExternalId } from '../is-external-id.ts'
import { modelOf, noModelText } from '../model-of.ts'
import type { Provider, ProviderLimits } from '../provider.ts'
import { asRecord } from '../read-json.ts'
import { createUnknownStatusLog } from '../unknown-status.ts'
import { vendorInput } from '../vendor-input.ts'
import { findPrediction } from './find-prediction.ts'
import { predictionRoute } from './prediction-route.ts'
import { readPrediction } from './read-prediction.ts'
import { readReplicateError } from './read-replicate-error.ts'
import { createWebhookReader } from './read-replicate-webhook.ts'

export interface ReplicateOptions {
  apiKey: string
  /** @default 'https://api.replicate.com/v1' */
  baseUrl?: string
  /**
   * Task type → model: `owner/name` for an official one, `owner/name:version` or a version for others, or
   * `deployments/owner/name`.
   */
  models: Record<string, string>
  /** `whsec_…`, what webhooks are signed with. @default asked for with the API key */
  webhookSecret?: string
  limits?: Partial<ProviderLimits>
  /** Stands in for the connections to `baseUrl`. Whoever passes it closes it. */
  pool?: Dispatcher
  now?: () => number
  log?: Pick<Logger, 'warn'>
}

const LIMITS: ProviderLimits = {
  // 600 creates and 3000 other calls a minute.
  create: { perSecond: 10, inFlight: 20 },
  query: { perSecond: 50, inFlight: 50 },
  callTimeoutMs: 10_000,
  minPollMs: 2_000,
  notFoundGraceMs: 60_000,
}

/** Files, inputs and logs are removed an hour after the end; there is no way to have them back. */
const URL_LIFETIME_MS = 60 * 60_000
/** A prediction carries its logs, its input and sometimes whole files as text. */
const MOST_REPLY_BYTES = 20_000_000

/**
 * Replicate's predictions API.
 *
 *     const replicate = createReplicate({ apiKey, models: { image: 'black-forest-labs/flux-schnell' } })
 */
export function createReplicate(options: ReplicateOptions): Provider {
  const { apiKey, models, now = Date.now } = options
  const baseUrl = options.baseUrl ?? 'https://api.replicate.com/v1'
  const limits = { ...LIMITS, ...options.limits }
  const onUnknownStatus = createUnknownStatusLog('replicate', options.log, apiKey)
  const shared = { name: 'replicate', baseUrl, apiKey, limits, now, pool: options.pool }
  const webhooks = createWebhookReader({ ...shared, secret: options.webhookSecret })

  const provider = createHttpApi({
    ...shared,
    urlLifetimeMs: URL_LIFETIME_MS,
    maxReplyBytes: MOST_REPLY_BYTES,
    readError: readReplicateError,

    create(request) {
      const { type, params, callbackUrl } = request
      const model = modelOf(request, models)
      if (!model) return { refuse: noModelText(type) }
      const route = predictionRoute(model)
      if (!route) return { refuse: `“${model}” cannot be a model at Replicate. It must be like owner/name.` }
      const { path, version } = route
      // The start too: if the create's reply is lost, its webhook tells the id early.
      const webhook = callbackUrl && { webhook: callbackUrl, webhook_events_filter: ['start', 'completed'] }
      return { path, json: { ...(version ? { version } : {}), input: vendorInput(params), ...webhook } }
    },
    readCreate({ json }) {
      const id = asRecord(json)?.id
      return isExternalId(id)
        ? { kind: 'accepted', externalId: id }
        : { kind: 'unknown', reason: 'the reply names no prediction' }
    },

    query: (id) => ({ path: `/predictions/${encodeURIComponent(id)}` }),
    readQuery: ({ json }, id) => readPrediction(json, id, onUnknownStatus),
    cancel: (id) => ({ method: 'POST', path: `/predictions/${encodeURIComponent(id)}/cancel` }),
    find: findPrediction,
    readWebhook: webhooks.read,
    // The whole prediction: its input, its logs, and outputs that may be text.
    maxWebhookBytes: 1024 * 1024,
  })
  return {
    ...provider,
    async close() {
      await Promise.all([provider.close(), webhooks.close()])
    },
  }
}
