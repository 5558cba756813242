import type { Dispatcher } from 'undici'
import type {
  CreateRequest,
  FindOutcome,
  ProviderLimits,
  RefreshOutcome,
  WebhookCall,
  WebhookReading,
} from '../provider.ts'
import type { ApiReply, ApiRequest } from './api-request.ts'
import type { ApiError } from './read-error.ts'
import type { CreateReading, QueryReading } from './readings.ts'

/** A result file whose URL died. */
export interface DeadFile {
  externalId: string
  url: string
  ordinal: number
}

/** A create that is not even sent, with a sentence that tells the user why. */
export interface Refusal {
  refuse: string
}

/**
 * An HTTP API that makes something and is asked about it. The functions only say what to send and what a reply
 * means; they need not think of time-outs, cut sockets, proxies, rate limits or `Retry-After`.
 */
export interface HttpApiOptions {
  /** What task types and the database call it, such as `acme`. */
  name: string
  /** Such as `https://api.acme.example/v1`. */
  baseUrl: string
  /**
   * Sent as a bearer token, unless one of `headers` has it already, as in `{ 'x-api-key': apiKey }`. Taken out of the
   * vendor's words before they are shown or logged. At least 8 characters, except where `baseUrl` is on this machine.
   */
  apiKey?: string
  /** Sent with every call. */
  headers?: Record<string, string>
  /** @default 1 create a second in bursts of 5, 10 queries a second, 10 s a call, 3 s between polls of a task */
  limits?: Partial<ProviderLimits>
  /** How long result URLs last at least; null for ever. @default 1 h */
  urlLifetimeMs?: number | null
  /** How long to wait after a 429 that does not say. @default 10 s */
  rateWindowMs?: number

  /** The call that starts a generation. */
  create: (request: CreateRequest) => ApiRequest | Refusal | Promise<ApiRequest | Refusal>
  /** What its 2xx reply says. If this throws, the reply is unreadable and the task may or may not exist. */
  readCreate: (reply: ApiReply, request: CreateRequest) => CreateReading
  /** The call that asks how a generation stands. */
  query: (externalId: string) => ApiRequest
  /** What its 2xx reply says. If this throws, nothing was learned and the task stays as it is. */
  readQuery: (reply: ApiReply, externalId: string) => QueryReading
  /**
   * What the vendor says in a reply that is not a 2xx; null if the reply is not the vendor's own.
   * @default the words in `{error}`, `{error: {message}}`, `{message}` or `{detail}`
   */
  readError?: (reply: ApiReply) => ApiError | null

  /** The call that stops a generation. A 2xx means that it was taken, and so does the vendor not knowing it. */
  cancel?: (externalId: string) => ApiRequest
  /** The call that gives a new URL for a file. */
  refresh?: (file: DeadFile) => ApiRequest
  /** What its 2xx reply says. @default the URL at the same place in what `readQuery` makes of the reply */
  readRefresh?: (reply: ApiReply, file: DeadFile) => RefreshOutcome
  /** What must be sent along to fetch a result; only asked for URLs at the origin of `baseUrl`. */
  sourceHeaders?: (url: string) => Record<string, string>
  /** What a call to our webhook address tells. If this throws, it was unreadable. */
  readWebhook?: (call: WebhookCall) => WebhookReading | Promise<WebhookReading>
  /** How large a webhook may be. @default 256 kB; never above 1 MB */
  maxWebhookBytes?: number
  /** Looks for a create whose reply was lost. `ask` gives the reply, or null where there was none. */
  find?: (
    request: CreateRequest & { sentAtMs: number },
    ask: (call: ApiRequest) => Promise<ApiReply | null>,
    now: number,
  ) => Promise<FindOutcome>

  /** Replies beyond this are cut. @default 1 MB */
  maxReplyBytes?: number
  /** Stands in for the connections to `baseUrl`, say for a proxy. Whoever passes it closes it. */
  pool?: Dispatcher
  now?: () => number
}
