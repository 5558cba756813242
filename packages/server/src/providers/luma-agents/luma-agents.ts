import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import { createHttpApi } from '../http-api/http-api.ts'
import { modelOf, noModelText, ownEntry } from '../model-of.ts'
import type { CreateRequest, Provider, ProviderLimits } from '../provider.ts'
import { asRecord } from '../read-json.ts'
import { createUnknownStatusLog } from '../unknown-status.ts'
import { vendorInput } from '../vendor-input.ts'
import { readGeneration } from './read-generation.ts'

/** What a generation makes. */
export type LumaAgentsKind = 'image' | 'image_edit' | 'video' | 'video_edit' | 'video_reframe' | (string & {})

export interface LumaAgentsOptions {
  /** Begins with `luma-api-`. Keys of Dream Machine do not work here. */
  apiKey: string
  /** @default 'https://agents.lumalabs.ai/v1' */
  baseUrl?: string
  /** Task type → model, such as `{ image: 'uni-1', video: 'ray-3.2' }`. */
  models: Record<string, string>
  /** Task type → what it makes. @default what the type is called */
  kinds?: Record<string, LumaAgentsKind>
  limits?: Partial<ProviderLimits>
  log?: Pick<Logger, 'warn'>
  /** Stands in for the connections to `baseUrl`. Whoever passes it closes it. */
  pool?: Dispatcher
  now?: () => number
}

const LIMITS: ProviderLimits = {
  // The vendor takes 30 in any minute: a bucket of 10 that refills by one in three seconds never lets more through.
  create: { perSecond: 1 / 3, burst: 10, inFlight: 10 },
  query: { perSecond: 5, inFlight: 10 },
  callTimeoutMs: 10_000,
  minPollMs: 3_000,
  notFoundGraceMs: 60_000,
}

const URL_LIFETIME_MS = 60 * 60_000
/** Both kinds of 429 say how long to wait; this is for one that does not. */
const RATE_WINDOW_MS = 60_000

/**
 * Luma's Agents API. Each question about a generation gives fresh URLs; there is no cancel, no webhook and no list.
 *
 *     const luma = createLumaAgents({ apiKey, models: { image: 'uni-1', video: 'ray-3.2' } })
 */
export function createLumaAgents({ models, kinds = {}, ...options }: LumaAgentsOptions): Provider {
  const unknownState = createUnknownStatusLog('luma-agents', options.log, options.apiKey)
  const path = (externalId: string) => `/generations/${encodeURIComponent(externalId)}`

  function create(request: CreateRequest) {
    const { type, params } = request
    const model = modelOf(request, models)
    if (!model) return { refuse: noModelText(type) }
    return {
      path: '/generations',
      json: { ...vendorInput(params), model, type: ownEntry(kinds, type) ?? type },
    }
  }

  return createHttpApi({
    ...options,
    name: 'luma-agents',
    baseUrl: options.baseUrl ?? 'https://agents.lumalabs.ai/v1',
    limits: { ...LIMITS, ...options.limits },
    urlLifetimeMs: URL_LIFETIME_MS,
    rateWindowMs: RATE_WINDOW_MS,
    create,
    readCreate: ({ json }) => ({ kind: 'accepted', externalId: String(asRecord(json)?.id ?? '') }),
    query: (externalId) => ({ path: path(externalId) }),
    readQuery: (reply, externalId) => readGeneration(reply, externalId, unknownState),
    refresh: ({ externalId }) => ({ path: path(externalId) }),
  })
}
