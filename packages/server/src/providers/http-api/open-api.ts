import type { Dispatcher } from 'undici'
import { checkApiKey, createKeyScrubber, scrubOutcome } from '../api-key.ts'
import { createHttpCall, type HttpFailure, openPool } from '../http-call.ts'
import type { ProviderLimits } from '../provider.ts'
import { USER_AGENT } from '../user-agent.ts'
import { type ApiReply, type ApiRequest, toApiReply, toHttpRequest } from './api-request.ts'

export interface OpenApiOptions {
  /** For messages about settings that cannot work, such as `Runway`. */
  name: string
  /** With a path where the API has one, such as `https://api.example.com/v1`. */
  baseUrl: string
  /** Sent as a bearer token, unless one of `headers` has it already. Null where the API wants none. */
  apiKey: string | null
  /** Sent with every call. */
  headers?: Record<string, string> | undefined
  limits: ProviderLimits
  /** Stands in for the connections to `baseUrl`. Whoever passes it closes it. */
  pool?: Dispatcher | undefined
  /** Replies beyond this are cut. @default 1 MB */
  maxReplyBytes?: number | undefined
  now: () => number
}

export type ApiAnswer = { kind: 'reply'; reply: ApiReply } | HttpFailure

/** The connections to one vendor's API. */
export interface OpenApi {
  /** The origin of `baseUrl`. */
  origin: string
  /** On a connection of its own, so that it is always known whether it was sent. */
  sendOnce(request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer>
  /** On kept-alive connections: for what can be asked twice. */
  send(request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer>
  /** Takes the key out of the words of an outcome. Ids, URLs and everything else stay as they came. */
  withoutKey<Outcome extends object>(outcome: Outcome): Outcome
  /** Idempotent. */
  close(): Promise<void>
}

/** More sockets than this only cost memory: what is in flight beyond waits its turn in the pool. */
const MOST_CONNECTIONS = 50

/** Throws for settings with which no call could work. */
export function openApi({ name, apiKey, limits, now, pool, ...options }: OpenApiOptions): OpenApi {
  const base = URL.parse(options.baseUrl)
  if (!base || !/^https?:$/.test(base.protocol)) {
    throw new Error(`The base URL of ${name} is not an http(s) URL. Set it like https://api.example.com`)
  }
  if (apiKey !== null) checkApiKey(name, apiKey, base)
  const prefix = base.pathname.replace(/\/+$/, '')
  const own = lowerCased(options.headers ?? {})
  const isOwn = apiKey === null || Object.values(own).some((value) => value.includes(apiKey))
  const headers = {
    'user-agent': USER_AGENT,
    accept: 'application/json',
    ...(isOwn ? {} : { authorization: `Bearer ${apiKey}` }),
    ...own,
  }
  for (const [header, value] of Object.entries(headers)) {
    if (!/^[\x20-\x7e]+$/.test(value)) {
      throw new Error(`The header ${header} for ${name} is empty or has characters that no header can carry.`)
    }
  }
  const pools: { once: Dispatcher; kept: Dispatcher } = pool
    ? { once: pool, kept: pool }
    : {
        once: openPool(base.origin, { reuse: false, connections: limits.create.inFlight }),
        kept: openPool(base.origin, {
          reuse: true,
          connections: Math.min(MOST_CONNECTIONS, limits.query.inFlight),
        }),
      }
  let closing: Promise<unknown> | undefined
  const scrub = createKeyScrubber(apiKey)

  const over = (dispatcher: Dispatcher) => {
    const call = createHttpCall({ dispatcher, maxReplyBytes: options.maxReplyBytes })
    return async (request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer> => {
      const sent = toHttpRequest(request, { prefix, headers, timeoutMs: limits.callTimeoutMs })
      const answer = await call({ ...sent, signal })
      return answer.kind === 'reply' ? { kind: 'reply', reply: toApiReply(answer, now()) } : answer
    }
  }

  return {
    origin: base.origin,
    sendOnce: over(pools.once),
    send: over(pools.kept),
    withoutKey: (outcome) => scrubOutcome(outcome, scrub),
    async close() {
      if (pool) return
      closing ??= Promise.all([pools.once.close(), pools.kept.close()])
      await closing
    },
  }
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
