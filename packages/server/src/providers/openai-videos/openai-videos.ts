import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import type { ApiReply, ApiRequest } from '../http-api/api-request.ts'
import { createHttpApi } from '../http-api/http-api.ts'
import type { Refusal } from '../http-api/http-api-options.ts'
import { type ApiError, readCommonError } from '../http-api/read-error.ts'
import { modelOf, noModelText, ownEntry } from '../model-of.ts'
import type { CreateRequest, Provider, ProviderLimits } from '../provider.ts'
import { asRecord } from '../read-json.ts'
import { createUnknownStatusLog } from '../unknown-status.ts'
import { vendorInput } from '../vendor-input.ts'
import { encodeMultipart } from './encode-multipart.ts'
import { findVideo } from './find-video.ts'
import { readVideo } from './read-video.ts'
import { readVideoWebhook } from './read-video-webhook.ts'

export interface OpenAiVideosOptions {
  apiKey: string
  /** Where `/videos` is, such as `https://gateway.example.com/v1`. OpenAI itself no longer has it. */
  baseUrl: string
  /** Task type → model, such as `{ video: 'sora-2' }`. */
  models: Record<string, string>
  /** `aspect_ratio` → `size`, for parameters without a size. @default 16:9 and 9:16 in 720p */
  sizes?: Record<string, string>
  /** How a create is sent: some gateways take forms only. @default 'json' */
  createAs?: 'json' | 'multipart'
  /** Proves webhooks: the secret that the gateway shows for the address. Without it webhooks are not read. */
  webhookSecret?: string
  limits?: Partial<ProviderLimits>
  log?: Pick<Logger, 'warn'>
  /** Stands in for the connections to `baseUrl`. Whoever passes it closes it. */
  pool?: Dispatcher
  now?: () => number
}

const LIMITS: ProviderLimits = {
  // The smallest tier of the original takes 25 in a minute.
  create: { perSecond: 1 / 3, burst: 5, inFlight: 10 },
  query: { perSecond: 10, inFlight: 20 },
  callTimeoutMs: 10_000,
  minPollMs: 10_000,
  notFoundGraceMs: 60_000,
}

/** For videos that do not say when they expire. */
const URL_LIFETIME_MS = 60 * 60_000
const RATE_WINDOW_MS = 30_000
const SIZES: Record<string, string> = { '16:9': '1280x720', '9:16': '720x1280' }

/**
 * Any gateway with the routes of OpenAI's videos API. Its files are behind the key, it lists but cannot cancel, and its
 * webhooks are set up there for the whole project.
 *
 *     const videos = createOpenAiVideos({ apiKey, baseUrl: 'https://gateway.example.com/v1', models: { video: 'sora-2' } })
 */
export function createOpenAiVideos(options: OpenAiVideosOptions): Provider {
  const { apiKey, models, sizes = SIZES, createAs = 'json', webhookSecret } = options
  const base = options.baseUrl.replace(/\/+$/, '')
  const path = (externalId: string) => `/videos/${encodeURIComponent(externalId)}`
  const reading = {
    contentUrl: (externalId: string) => `${base}${path(externalId)}/content`,
    urlLifetimeMs: URL_LIFETIME_MS,
    unknownStatus: createUnknownStatusLog('openai-videos', options.log, apiKey),
  }

  async function create(request: CreateRequest): Promise<ApiRequest | Refusal> {
    const { aspect_ratio: aspect, seconds, ...given } = vendorInput(request.params)
    const model = modelOf(request, models)
    if (!model) return { refuse: noModelText(request.type) }
    const shape = typeof aspect === 'string' && given.size === undefined ? aspect : null
    const size = shape && ownEntry(sizes, shape)
    if (shape && !size) {
      return { refuse: `The shape ${shape} cannot be made here. Choose ${Object.keys(sizes).join(', ')}.` }
    }
    const body = {
      ...given,
      model,
      ...(size ? { size } : {}),
      // The contract wants text, and a number is the natural thing to send.
      ...(seconds === undefined ? {} : { seconds: String(seconds) }),
    }
    return createAs === 'json'
      ? { path: '/videos', json: body }
      : { method: 'POST', path: '/videos', ...(await encodeMultipart(body)) }
  }

  return createHttpApi({
    ...options,
    name: 'openai-videos',
    baseUrl: base,
    limits: { ...LIMITS, ...options.limits },
    rateWindowMs: RATE_WINDOW_MS,
    create,
    readCreate: ({ json }) => ({ kind: 'accepted', externalId: String(asRecord(json)?.id ?? '') }),
    query: (externalId) => ({ path: path(externalId) }),
    readQuery: (reply, externalId) => readVideo(reply, externalId, reading),
    readError,
    refresh: ({ externalId }) => ({ path: path(externalId) }),
    sourceHeaders(url): Record<string, string> {
      return url.startsWith(`${base}/videos/`) ? { authorization: `Bearer ${apiKey}` } : {}
    },
    ...(webhookSecret && { readWebhook: (call) => readVideoWebhook(call, webhookSecret) }),
    find: findVideo,
  })
}

const SPENT = new Set(['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active'])

/** The code says more than the status: an empty account is told as 429. */
function readError(reply: ApiReply): ApiError | null {
  const error = readCommonError(reply)
  if (!error) return null
  const code = asRecord(asRecord(reply.json)?.error)?.code
  if (typeof code === 'string') {
    if (SPENT.has(code)) return { ...error, code: 'PROVIDER_QUOTA' }
    if (/moderation|content_policy|safety/.test(code)) return { ...error, code: 'CONTENT_REFUSED' }
  }
  const waitMs = Number(reply.headers['retry-after-ms'])
  return waitMs > 0 ? { ...error, retryAfterMs: waitMs } : error
}
