import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import { isOk } from '../http-api/api-request.ts'
import { openApi } from '../http-api/open-api.ts'
import { createOutcomeByStatus, queryOutcomeByStatus } from '../http-api/read-by-status.ts'
import { toQueryOutcome } from '../http-api/readings.ts'
import { createRecentMap } from '../http-api/recent-map.ts'
import { modelOf, noModelText } from '../model-of.ts'
import type { CreateOutcome, CreateRequest, Provider, ProviderLimits, QueryOutcome } from '../provider.ts'
import { asRecord } from '../read-json.ts'
import { createUnknownStatusLog } from '../unknown-status.ts'
import { vendorInput } from '../vendor-input.ts'
import { type FalRequest, fromExternalId, isModel, toExternalId } from './external-id.ts'
import { readFalError } from './read-fal-error.ts'
import { readFalResult } from './read-fal-result.ts'
import { readFalStatus, type StatusReading } from './read-fal-status.ts'
import { callbackUrlFor, createFalWebhookReader } from './read-fal-webhook.ts'
import { createRequestPaths } from './request-paths.ts'

export interface FalOptions {
  apiKey: string
  /** @default 'https://queue.fal.run' */
  baseUrl?: string
  /** Where the keys are that webhooks are signed with. @default 'https://rest.fal.ai/.well-known/jwks.json' */
  keysUrl?: string
  /** Task type → model, such as `{ image: 'fal-ai/flux/dev' }`. */
  models: Record<string, string>
  /** Webhooks for other accounts of fal's are passed over. @default any is taken */
  webhookUserId?: string
  limits?: Partial<ProviderLimits>
  /** Stands in for the connections to `baseUrl` and to `keysUrl`. Whoever passes it closes it. */
  pool?: Dispatcher
  now?: () => number
  log?: Pick<Logger, 'warn'>
}

const LIMITS: ProviderLimits = {
  // Creates are queued, not refused, beyond what may run at once; ten calls a second are documented somewhere.
  create: { perSecond: 10, inFlight: 20 },
  query: { perSecond: 20, inFlight: 40 },
  callTimeoutMs: 10_000,
  minPollMs: 2_000,
  notFoundGraceMs: 60_000,
}

/** Files are kept for a week at least, and are then deleted for good. */
const URL_LIFETIME_MS = 7 * 24 * 60 * 60_000
const RATE_WINDOW_MS = 10_000
/** Some models give their files as text inside the result. */
const MOST_REPLY_BYTES = 20_000_000
/** How long a result may be out of order before it is taken for a failure. */
const RESULT_GRACE_MS = 2 * 60_000
const REMEMBERED = 10_000

/**
 * fal's queue. It has no list, so a create whose reply was lost is only found again by its webhook.
 *
 *     const fal = createFal({ apiKey, models: { image: 'fal-ai/flux/dev' } })
 */
export function createFal(options: FalOptions): Provider {
  const { apiKey, models, pool, now = Date.now } = options
  const limits = { ...LIMITS, ...options.limits }
  const api = openApi({
    name: 'fal',
    baseUrl: options.baseUrl ?? 'https://queue.fal.run',
    apiKey,
    headers: { authorization: `Key ${apiKey}` },
    limits,
    pool,
    maxReplyBytes: MOST_REPLY_BYTES,
    now,
  })
  const webhooks = createFalWebhookReader({
    keysUrl: options.keysUrl ?? 'https://rest.fal.ai/.well-known/jwks.json',
    models: Object.values(models),
    userId: options.webhookUserId,
    limits,
    pool,
    now,
  })
  const paths = createRequestPaths()
  const onUnknownStatus = createUnknownStatusLog('fal', options.log, apiKey)
  const withoutResultSince = createRecentMap<number>(REMEMBERED)
  const cancelled = createRecentMap<true>(REMEMBERED)

  async function create(request: CreateRequest, signal: AbortSignal): Promise<CreateOutcome> {
    const { type, params, callbackUrl } = request
    const model = modelOf(request, models)
    if (!isModel(model)) {
      const message = model
        ? `“${model}” cannot be a model at fal. It must be like fal-ai/flux/dev.`
        : noModelText(type)
      return { kind: 'refused', code: 'SUBMIT_REFUSED', message, retryable: false }
    }
    const query = callbackUrl ? { fal_webhook: callbackUrlFor(callbackUrl, model) } : {}
    const call = { method: 'POST', path: `/${model}`, query, json: vendorInput(params) } as const
    const answer = await api.sendOnce(call, signal)
    if (answer.kind === 'not-sent') return { kind: 'not-accepted', reason: answer.reason, retryAfterMs: null }
    if (answer.kind === 'cut') return { kind: 'unknown', reason: answer.reason }
    const { reply } = answer
    if (!isOk(reply)) return createOutcomeByStatus(reply, readFalError(reply), RATE_WINDOW_MS)
    const body = asRecord(reply.json)
    const externalId = toExternalId({ model, requestId: String(body?.request_id) })
    if (!body?.request_id || !fromExternalId(externalId)) {
      return { kind: 'unknown', reason: `HTTP ${reply.status} with a body that names no request` }
    }
    paths.learn(model, body.response_url)
    return { kind: 'accepted', externalId }
  }

  async function query(externalId: string, signal: AbortSignal): Promise<QueryOutcome> {
    const request = fromExternalId(externalId)
    if (!request) return { kind: 'not-found' }
    const answer = await paths.ask(request, 'status', (call) => api.send(call, signal))
    if (answer.kind !== 'reply') return nothing(answer.reason)
    const { reply } = answer
    if (!isOk(reply)) return queryOutcomeByStatus(reply, readFalError(reply), RATE_WINDOW_MS)
    let status: StatusReading
    try {
      status = readFalStatus(reply.json, request.requestId, onUnknownStatus)
    } catch {
      return nothing(`HTTP ${reply.status} with a body that is not a status of this request`)
    }
    if (status.kind === 'running') return toOutcome(status)
    if (status.error && saysCancelled(status.error)) return { kind: 'cancelled' }
    const result = await readResult(externalId, request, signal)
    // There is no state for it of its own: what was cancelled has failed, in words that nobody documents.
    if (cancelled.get(externalId) && (status.error || result.kind === 'failed')) return { kind: 'cancelled' }
    if (!status.error || result.kind === 'failed') return result
    // The status is enough to know that it failed; the result would only have had better words.
    return toOutcome({ kind: 'failed', words: status.error.words })
  }

  async function readResult(
    externalId: string,
    request: FalRequest,
    signal: AbortSignal,
  ): Promise<QueryOutcome> {
    const answer = await paths.ask(request, 'result', (call) => api.send(call, signal))
    if (answer.kind !== 'reply') return nothing(answer.reason)
    const { reply } = answer
    let reading: ReturnType<typeof readFalResult>
    try {
      reading = readFalResult(reply)
    } catch {
      return nothing(`HTTP ${reply.status} with a result that cannot be read`)
    }
    const outcome = reading.kind === 'maybe-failed' ? null : toQueryOutcome(reading, URL_LIFETIME_MS)
    if (outcome) {
      withoutResultSince.delete(externalId)
      return outcome
    }
    const since = withoutResultSince.get(externalId) ?? reply.now
    withoutResultSince.set(externalId, since)
    if (reply.now - since < RESULT_GRACE_MS) {
      return nothing('it is completed, but its result cannot be read yet')
    }
    return reading.kind === 'maybe-failed'
      ? toOutcome({ kind: 'failed', words: reading.words })
      : toOutcome({
          kind: 'failed',
          code: 'RESULT_UNREADABLE',
          words: 'the result has no files',
          retryable: true,
        })
  }

  return {
    name: 'fal',
    limits,
    create: async (request, signal) => api.withoutKey(await create(request, signal)),
    query: async (externalId, signal) => api.withoutKey(await query(externalId, signal)),
    async cancel(externalId, signal) {
      const request = fromExternalId(externalId)
      // Nothing that could run, so nothing to stop.
      if (!request) return true
      const answer = await paths.ask(request, 'cancel', (call) => api.send(call, signal))
      if (answer.kind !== 'reply') return false
      const { reply } = answer
      if (isOk(reply)) cancelled.set(externalId, true)
      const says = asRecord(reply.json)?.status
      // What is finished or unknown needs no more asking.
      return (
        isOk(reply) || says === 'ALREADY_COMPLETED' || (reply.status === 404 && readFalError(reply) !== null)
      )
    },
    readWebhook: webhooks.read,
    // The whole result, which some models write inline.
    maxWebhookBytes: 1024 * 1024,
    async close() {
      await Promise.all([api.close(), webhooks.close()])
    },
  }
}

/** An error of the request itself, not of something that it ran: a model may well say that it cancelled a step. */
function saysCancelled({ words, type }: { words: string; type: string }): boolean {
  return /cancel/i.test(type) || /^request\b.{0,20}\bcancell?ed\b/i.test(words)
}

function toOutcome(reading: Parameters<typeof toQueryOutcome>[0]): QueryOutcome {
  return toQueryOutcome(reading, URL_LIFETIME_MS) ?? nothing('no outcome')
}

function nothing(reason: string): QueryOutcome {
  return { kind: 'inconclusive', reason, retryAfterMs: null }
}
