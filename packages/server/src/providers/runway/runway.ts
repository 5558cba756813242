import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import type { ApiReply } from '../http-api/api-request.ts'
import { createHttpApi } from '../http-api/http-api.ts'
import { type ApiError, readCommonError } from '../http-api/read-error.ts'
import type { Provider, ProviderLimits } from '../provider.ts'
import { asRecord } from '../read-json.ts'
import { createUnknownStatusLog } from '../unknown-status.ts'
import { readTask } from './read-task.ts'
import { type RunwayRoute, requestOf } from './request-of.ts'

export interface RunwayOptions {
  apiKey: string
  /** @default 'https://api.dev.runwayml.com' */
  baseUrl?: string
  /** Task type → model, such as `{ video: 'gen4.5', image: 'gen4_image' }`. */
  models: Record<string, string>
  /**
   * Task type → what it asks for. A type whose parameters have `promptImage` makes image to video of text to video.
   * @default `image` is `text_to_image`, `video` is `text_to_video`
   */
  routes?: Record<string, RunwayRoute>
  limits?: Partial<ProviderLimits>
  log?: Pick<Logger, 'warn'>
  /** Stands in for the connections to `baseUrl`. Whoever passes it closes it. */
  pool?: Dispatcher
  now?: () => number
}

/** The version whose shapes this adapter reads; calls without one are refused. */
const VERSION = '2024-11-06'

const LIMITS: ProviderLimits = {
  // No rate is documented: what is over the account's concurrency is taken and held as THROTTLED.
  create: { perSecond: 1, burst: 5, inFlight: 10 },
  query: { perSecond: 20, inFlight: 20 },
  callTimeoutMs: 10_000,
  // A task does not change more often than this.
  minPollMs: 5_000,
  notFoundGraceMs: 60_000,
}

/** Promised are 24 to 48 hours; asking for the task again gives new ones. */
const URL_LIFETIME_MS = 24 * 60 * 60_000
/** 429 is the daily cap, which rolls: some of it comes back all the time. */
const RATE_WINDOW_MS = 60_000

/**
 * Runway's API. It cancels and gives fresh URLs, has no webhooks, and cannot list.
 *
 *     const runway = createRunway({ apiKey, models: { image: 'gen4_image', video: 'gen4.5' } })
 */
export function createRunway({ models, ...options }: RunwayOptions): Provider {
  const unknownStatus = createUnknownStatusLog('runway', options.log, options.apiKey)
  const routes = { image: 'text_to_image', video: 'text_to_video', ...options.routes }
  const taskPath = (externalId: string) => `/v1/tasks/${encodeURIComponent(externalId)}`
  return createHttpApi({
    ...options,
    name: 'runway',
    baseUrl: options.baseUrl ?? 'https://api.dev.runwayml.com',
    headers: { 'x-runway-version': VERSION },
    limits: { ...LIMITS, ...options.limits },
    urlLifetimeMs: URL_LIFETIME_MS,
    rateWindowMs: RATE_WINDOW_MS,
    create(request) {
      const asked = requestOf(request, { models, routes })
      return 'refuse' in asked ? asked : { path: `/v1/${asked.route}`, json: asked.body }
    },
    readCreate: ({ json }) => ({ kind: 'accepted', externalId: String(asRecord(json)?.id ?? '') }),
    query: (externalId) => ({ path: taskPath(externalId) }),
    readQuery: (reply, externalId) => readTask(reply, externalId, unknownStatus),
    readError,
    // Cancels what is not finished, and removes what is: nobody wants either any more.
    cancel: (externalId) => ({ method: 'DELETE', path: taskPath(externalId) }),
    refresh: ({ externalId }) => ({ path: taskPath(externalId) }),
  })
}

/** An empty account is told as a bad request, in words only. */
function readError(reply: ApiReply): ApiError | null {
  const error = readCommonError(reply)
  const isBroke =
    reply.status === 400 && /\b(not have enough|insufficient) credits\b/i.test(error?.words ?? '')
  return error && isBroke ? { ...error, code: 'PROVIDER_QUOTA' } : error
}
