import { DEFAULT_LIMITS } from '../default-limits.ts'
import { defineProvider } from '../define-provider.ts'
import type {
  CreateOutcome,
  CreateRequest,
  FindOutcome,
  Provider,
  QueryOutcome,
  RefreshOutcome,
  WebhookCall,
  WebhookReading,
} from '../provider.ts'
import { tidyText } from '../read-json.ts'
import { type ApiReply, type ApiRequest, isOk } from './api-request.ts'
import type { DeadFile, HttpApiOptions, Refusal } from './http-api-options.ts'
import { openApi } from './open-api.ts'
import { createOutcomeByStatus, queryOutcomeByStatus } from './read-by-status.ts'
import { readCommonError } from './read-error.ts'
import { toCreateOutcome, toQueryOutcome } from './readings.ts'
import { createRecentMap } from './recent-map.ts'

const HOUR_MS = 60 * 60_000
const RATE_WINDOW_MS = 10_000
/**
 * Success without a result may be a record that is still being written, and failing then would throw away paid work;
 * one that stays so for this long is broken.
 */
const RESULT_GRACE_MS = 2 * 60_000
const REMEMBERED = 10_000

const RESULT_UNREADABLE: QueryOutcome = {
  kind: 'failed',
  code: 'RESULT_UNREADABLE',
  message: 'The generation finished, but its result could not be read. Try again.',
  retryable: true,
}

/**
 * Makes a provider of any HTTP API.
 *
 * @example
 * createHttpApi({
 *   name: 'acme',
 *   baseUrl: 'https://api.acme.example/v1',
 *   apiKey: process.env.ACME_KEY,
 *   create: ({ params }) => ({ path: '/jobs', json: params }),
 *   readCreate: ({ json }) => ({ kind: 'accepted', externalId: job.parse(json).id }),
 *   query: (id) => ({ path: `/jobs/${encodeURIComponent(id)}` }),
 *   readQuery: ({ json }) => {
 *     const { state, percent, files, error } = job.parse(json)
 *     if (state === 'done') return { kind: 'succeeded', outputs: files.map((url) => ({ url })) }
 *     if (state === 'failed') return { kind: 'failed', words: error }
 *     return { kind: 'running', progress: percent }
 *   },
 * })
 */
export function createHttpApi(options: HttpApiOptions): Provider {
  const { now = Date.now, urlLifetimeMs = HOUR_MS, rateWindowMs = RATE_WINDOW_MS } = options
  const { cancel, refresh, sourceHeaders, readWebhook, find } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const api = openApi({ ...options, apiKey: options.apiKey ?? null, limits, now })
  const clean = api.withoutKey
  const cancelled = createRecentMap<true>(REMEMBERED)
  const withoutResultSince = createRecentMap<number>(REMEMBERED)

  function readError(reply: ApiReply) {
    try {
      return (options.readError ?? readCommonError)(reply)
    } catch {
      // An error reply that cannot be read says no more than its status.
      return null
    }
  }

  function readQueryReply(reply: ApiReply, externalId: string): QueryOutcome {
    if (!isOk(reply)) return queryOutcomeByStatus(reply, readError(reply), rateWindowMs)
    let outcome: QueryOutcome | null
    try {
      outcome = toQueryOutcome(options.readQuery(reply, externalId), urlLifetimeMs)
    } catch (error) {
      return { kind: 'inconclusive', reason: unreadable(reply, error), retryAfterMs: null }
    }
    if (outcome) {
      withoutResultSince.delete(externalId)
      return outcome
    }
    const since = withoutResultSince.get(externalId) ?? reply.now
    withoutResultSince.set(externalId, since)
    if (reply.now - since >= RESULT_GRACE_MS) return RESULT_UNREADABLE
    const reason = 'success was reported, but its result cannot be read yet'
    return { kind: 'inconclusive', reason, retryAfterMs: null }
  }

  async function callFor(request: CreateRequest): Promise<ApiRequest | Refusal> {
    try {
      return await options.create(request)
    } catch (error) {
      return { refuse: `No request to the generation service could be made of this (${textOf(error)}).` }
    }
  }

  async function sendCreate(request: CreateRequest, signal: AbortSignal): Promise<CreateOutcome> {
    const call = await callFor(request)
    if ('refuse' in call) {
      return { kind: 'refused', code: 'SUBMIT_REFUSED', message: call.refuse, retryable: false }
    }
    const answer = await api.sendOnce(call, signal)
    if (answer.kind === 'not-sent') {
      return { kind: 'not-accepted', reason: answer.reason, retryAfterMs: null }
    }
    if (answer.kind === 'cut') return { kind: 'unknown', reason: answer.reason }
    const { reply } = answer
    if (!isOk(reply)) return createOutcomeByStatus(reply, readError(reply), rateWindowMs)
    try {
      return toCreateOutcome(options.readCreate(reply, request))
    } catch (error) {
      return { kind: 'unknown', reason: unreadable(reply, error) }
    }
  }

  async function sendQuery(externalId: string, signal: AbortSignal): Promise<QueryOutcome> {
    const answer = await api.send(options.query(externalId.toWellFormed()), signal)
    if (answer.kind !== 'reply') return { kind: 'inconclusive', reason: answer.reason, retryAfterMs: null }
    const outcome = readQueryReply(answer.reply, externalId)
    // Some vendors remove what was cancelled: then it is not lost.
    return outcome.kind === 'not-found' && cancelled.get(externalId) ? { kind: 'cancelled' } : outcome
  }

  async function sendCancel(externalId: string, call: ApiRequest, signal: AbortSignal): Promise<boolean> {
    const answer = await api.send(call, signal)
    if (answer.kind !== 'reply') return false
    const { reply } = answer
    const taken = isOk(reply) || readQueryReply(reply, externalId).kind === 'not-found'
    if (taken) cancelled.set(externalId, true)
    return taken
  }

  async function sendRefresh(file: DeadFile, call: ApiRequest, signal: AbortSignal): Promise<RefreshOutcome> {
    const answer = await api.send(call, signal)
    if (answer.kind !== 'reply') return { kind: 'inconclusive', reason: answer.reason }
    const { reply } = answer
    if (options.readRefresh && isOk(reply)) {
      try {
        return options.readRefresh(reply, file)
      } catch (error) {
        return { kind: 'inconclusive', reason: unreadable(reply, error) }
      }
    }
    return toRefreshOutcome(readQueryReply(reply, file.externalId), file.ordinal)
  }

  async function sendFind(
    search: NonNullable<typeof find>,
    request: CreateRequest & { sentAtMs: number },
    signal: AbortSignal,
  ): Promise<FindOutcome> {
    const ask = async (call: ApiRequest) => {
      const answer = await api.send(call, signal)
      return answer.kind === 'reply' ? answer.reply : null
    }
    return search(request, ask, now()).catch((error: unknown) => ({
      kind: 'inconclusive',
      reason: `the list cannot be read (${textOf(error)})`,
    }))
  }

  return defineProvider({
    name: options.name,
    limits,
    create: async (request, signal) => clean(await sendCreate(request, signal)),
    query: async (externalId, signal) => clean(await sendQuery(externalId, signal)),
    ...(cancel && {
      cancel: (externalId: string, signal: AbortSignal) =>
        sendCancel(externalId, cancel(externalId.toWellFormed()), signal),
    }),
    ...(refresh && {
      refresh: async (file: DeadFile, signal: AbortSignal) =>
        clean(await sendRefresh(file, refresh(file), signal)),
    }),
    ...(sourceHeaders && {
      // A vendor's key goes to the vendor only, whatever URL a reply names.
      sourceHeaders: (url: string) => (URL.parse(url)?.origin === api.origin ? sourceHeaders(url) : {}),
    }),
    ...(options.maxWebhookBytes !== undefined && { maxWebhookBytes: options.maxWebhookBytes }),
    ...(readWebhook && {
      async readWebhook(call: WebhookCall): Promise<WebhookReading> {
        try {
          return await readWebhook(call)
        } catch (error) {
          return { kind: 'unreadable', reason: textOf(error) }
        }
      },
    }),
    ...(find && {
      find: async (request: CreateRequest & { sentAtMs: number }, signal: AbortSignal) =>
        clean(await sendFind(find, request, signal)),
    }),
    close: () => api.close(),
  })
}

function toRefreshOutcome(outcome: QueryOutcome, ordinal: number): RefreshOutcome {
  switch (outcome.kind) {
    case 'succeeded': {
      const output = outcome.outputs[ordinal]
      if (!output) return { kind: 'gone', reason: 'the result no longer has this file' }
      return { kind: 'refreshed', url: output.url, urlLifetimeMs: output.urlLifetimeMs }
    }
    case 'running':
      return { kind: 'inconclusive', reason: 'it is reported as running again' }
    case 'inconclusive':
      return { kind: 'inconclusive', reason: outcome.reason }
    default:
      return { kind: 'gone', reason: 'the vendor no longer has the result' }
  }
}

function unreadable({ status, json }: ApiReply, error: unknown): string {
  if (json === undefined) return `HTTP ${status} with a body that is not JSON`
  return `HTTP ${status} with a body that cannot be read (${textOf(error)})`
}

function textOf(error: unknown): string {
  return error instanceof Error ? tidyText(`${error.name}: ${error.message}`) : 'not an error'
}
