import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import { checkApiKey, createKeyScrubber, scrubOutcome } from '../api-key.ts'
import { createHttpCall, openPool } from '../http-call.ts'
import { modelOf, noModelText } from '../model-of.ts'
import type { Provider, ProviderLimits } from '../provider.ts'
import { createUnknownStatusLog } from '../unknown-status.ts'
import { USER_AGENT } from '../user-agent.ts'
import { vendorInput } from '../vendor-input.ts'
import { readCallback } from './read-callback.ts'
import { readCreateReply } from './read-create-reply.ts'
import { readQueryReply } from './read-query-reply.ts'
import { readRefreshReply } from './read-refresh-reply.ts'

export interface KieOptions {
  apiKey: string
  /** @default 'https://api.kie.ai' */
  baseUrl?: string
  /** Task type → KIE model, such as `{ image: 'google/nano-banana' }`. */
  models: Record<string, string>
  /** Set in KIE's settings, it proves which task a callback is about. @default the secret in the address does */
  webhookHmacKey?: string
  limits?: Partial<ProviderLimits>
  /** Stands in for the connections to `baseUrl`. Whoever passes it closes it. */
  pool?: Dispatcher
  now?: () => number
  log?: Pick<Logger, 'warn'>
}

const LIMITS: ProviderLimits = {
  // The vendor takes 20 in any 10 s and does not queue the rest: a bucket of 10 that refills by one a second never
  // lets more through, and lets a few that come together go together.
  create: { perSecond: 1, burst: 10, inFlight: 20 },
  query: { perSecond: 50, inFlight: 50 },
  callTimeoutMs: 10_000,
  minPollMs: 3_000,
  notFoundGraceMs: 60_000,
}

/** More sockets than this only cost memory: what is in flight beyond waits its turn. */
const MOST_CONNECTIONS = 50

/**
 * KIE's jobs API. It has no cancel and no list, so an ambiguous create stays ambiguous.
 *
 *     const kie = createKie({ apiKey, models: { image: 'google/nano-banana', video: 'sora-2-text-to-video' } })
 */
export function createKie(options: KieOptions): Provider {
  const { apiKey, models, now = Date.now } = options
  const base = URL.parse(options.baseUrl ?? 'https://api.kie.ai')
  if (!base || !/^https?:$/.test(base.protocol)) {
    throw new Error('The base URL of KIE is not an http(s) URL. Set it like https://api.kie.ai')
  }
  checkApiKey('KIE', apiKey, base)
  const limits = { ...LIMITS, ...options.limits }
  const connections = Math.min(MOST_CONNECTIONS, limits.query.inFlight)
  // As many again wait in the pool, so that no connection is ever idle.
  limits.query = { atOnce: 2 * connections, ...limits.query }
  const prefix = base.pathname.replace(/\/+$/, '')
  const pools: { create: Dispatcher; query: Dispatcher } = options.pool
    ? { create: options.pool, query: options.pool }
    : {
        create: openPool(base.origin, { reuse: false, connections: limits.create.inFlight }),
        query: openPool(base.origin, { reuse: true, connections }),
      }
  const sendCreate = createHttpCall({ dispatcher: pools.create })
  const sendQuery = createHttpCall({ dispatcher: pools.query })
  const onUnknownState = createUnknownStatusLog('kie', options.log, apiKey)
  let closing: Promise<unknown> | undefined

  const headers = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    accept: 'application/json',
    // Requests without one are turned away with 403 before they reach the API.
    'user-agent': `Mozilla/5.0 (compatible; ${USER_AGENT})`,
  }

  const scrub = createKeyScrubber(apiKey)

  return {
    name: 'kie',
    limits,

    async create(request, signal) {
      const { type, params, callbackUrl } = request
      const model = modelOf(request, models)
      if (!model) {
        return {
          kind: 'refused',
          code: 'SUBMIT_REFUSED',
          message: noModelText(type),
          retryable: false,
        }
      }
      const reply = await sendCreate({
        method: 'POST',
        path: `${prefix}/api/v1/jobs/createTask`,
        headers,
        body: JSON.stringify({
          model,
          input: vendorInput(params),
          ...(callbackUrl ? { callBackUrl: callbackUrl } : {}),
        }),
        timeoutMs: limits.callTimeoutMs,
        signal,
      })
      if (reply.kind === 'not-sent') {
        return { kind: 'not-accepted', reason: reply.reason, retryAfterMs: null }
      }
      if (reply.kind === 'cut') return { kind: 'unknown', reason: reply.reason }
      return scrubOutcome(readCreateReply(reply, now()), scrub)
    },

    async query(externalId, signal) {
      const reply = await sendQuery({
        method: 'GET',
        path: `${prefix}/api/v1/jobs/recordInfo?taskId=${encodeURIComponent(externalId.toWellFormed())}`,
        headers,
        timeoutMs: limits.callTimeoutMs,
        signal,
      })
      if (reply.kind !== 'reply') return { kind: 'inconclusive', reason: reply.reason, retryAfterMs: null }
      return scrubOutcome(readQueryReply(reply, externalId, now(), onUnknownState), scrub)
    },

    readWebhook: async (call) => readCallback(call, options.webhookHmacKey),

    async refresh({ url }, signal) {
      const reply = await sendQuery({
        method: 'POST',
        path: `${prefix}/api/v1/common/download-url`,
        headers,
        body: JSON.stringify({ url }),
        timeoutMs: limits.callTimeoutMs,
        signal,
      })
      if (reply.kind !== 'reply') return { kind: 'inconclusive', reason: reply.reason }
      return scrubOutcome(readRefreshReply(reply), scrub)
    },

    async close() {
      if (options.pool) return
      closing ??= Promise.all([pools.create.close(), pools.query.close()])
      await closing
    },
  }
}
