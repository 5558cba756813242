import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import { createHttpApi } from '../http-api/http-api.ts'
import { isExternalId } from '../is-external-id.ts'
import { modelOf, noModelText } from '../model-of.ts'
import type { CreateRequest, Provider, ProviderLimits, WebhookCall, WebhookReading } from '../provider.ts'
import { asRecord, parseJson } from '../read-json.ts'
import { createUnknownStatusLog } from '../unknown-status.ts'
import { vendorInput } from '../vendor-input.ts'
import { findGeneration } from './find-generation.ts'
import { readGeneration } from './read-generation.ts'

export interface LumaDreamMachineOptions {
  /** Begins with `luma-`. Keys of the Agents API do not work here. */
  apiKey: string
  /** @default 'https://api.lumalabs.ai/dream-machine/v1' */
  baseUrl?: string
  /** Task type → model, such as `{ image: 'photon-1', video: 'ray-2' }`. */
  models: Record<string, string>
  limits?: Partial<ProviderLimits>
  log?: Pick<Logger, 'warn'>
  /** Stands in for the connections to `baseUrl`. Whoever passes it closes it. */
  pool?: Dispatcher
  now?: () => number
}

const LIMITS: ProviderLimits = {
  // 20 videos in any minute: a bucket of 5 that refills by one in four seconds never lets more through.
  create: { perSecond: 1 / 4, burst: 5, inFlight: 10 },
  query: { perSecond: 10, inFlight: 10 },
  callTimeoutMs: 10_000,
  minPollMs: 3_000,
  notFoundGraceMs: 60_000,
}

/** Not documented; what other vendors' links last at least. */
const URL_LIFETIME_MS = 60 * 60_000
const RATE_WINDOW_MS = 60_000

/**
 * Luma's older API, Dream Machine. It calls back, lists what was made, and removes it.
 *
 *     const luma = createLumaDreamMachine({ apiKey, models: { image: 'photon-1', video: 'ray-2' } })
 */
export function createLumaDreamMachine({ models, ...options }: LumaDreamMachineOptions): Provider {
  const unknownState = createUnknownStatusLog('luma-dream-machine', options.log, options.apiKey)
  const path = (externalId: string) => `/generations/${encodeURIComponent(externalId)}`

  function create(request: CreateRequest) {
    const { type, params, callbackUrl } = request
    const model = modelOf(request, models)
    if (!model) return { refuse: noModelText(type) }
    return {
      path: model.startsWith('photon') ? '/generations/image' : '/generations/video',
      json: { ...vendorInput(params), model, ...(callbackUrl ? { callback_url: callbackUrl } : {}) },
    }
  }

  return createHttpApi({
    ...options,
    name: 'luma-dream-machine',
    baseUrl: options.baseUrl ?? 'https://api.lumalabs.ai/dream-machine/v1',
    limits: { ...LIMITS, ...options.limits },
    urlLifetimeMs: URL_LIFETIME_MS,
    rateWindowMs: RATE_WINDOW_MS,
    create,
    readCreate: ({ json }) => ({ kind: 'accepted', externalId: String(asRecord(json)?.id ?? '') }),
    query: (externalId) => ({ path: path(externalId) }),
    readQuery: (reply, externalId) => readGeneration(reply, externalId, unknownState),
    // Removes it. Whether that stops the work is not documented, but nobody waits for it any more.
    cancel: (externalId) => ({ method: 'DELETE', path: path(externalId) }),
    readWebhook,
    find: findGeneration,
  })
}

/**
 * The body is the generation, and nothing signs it: what proves the call is the secret in the address it came to, which
 * only Luma was told. So it says no more than which generation to ask about.
 */
function readWebhook({ body }: WebhookCall): WebhookReading {
  const id = asRecord(parseJson(Buffer.from(body).toString('utf8')))?.id
  if (!isExternalId(id)) return { kind: 'unreadable', reason: 'the body names no generation' }
  return { kind: 'about', externalId: id, deliveryId: null, isSigned: false }
}
