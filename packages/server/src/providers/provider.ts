import type { FailureCode } from '@holdfast/shared'

/** What an adapter needs to know to ask a provider for one generation. */
export interface CreateRequest {
  taskId: string
  /** The task type, such as `image`. */
  type: string
  /** The stored parameters: checked against the type's schema, without secrets. */
  params: Record<string, unknown>
  /** The one of the type's `models` that it is for. Absent where the type names none: then the adapter knows. */
  model?: string
  /** Where the vendor may call us back: carries a secret of this task's own. Absent where we cannot be reached. */
  callbackUrl?: string
}

/**
 * How a create ended. No provider has an idempotency key on create, so the outcomes differ in one question: can
 * it be sent again without risking a second generation?
 */
export type CreateOutcome =
  | { kind: 'accepted'; externalId: string }
  /** A definite no. The task fails; nothing was generated. */
  | { kind: 'refused'; code: FailureCode; message: string; retryable: boolean }
  /** Certainly not accepted (not connected, rate limited, in maintenance): safe to send later. */
  | { kind: 'not-accepted'; reason: string; retryAfterMs: number | null }
  /**
   * May or may not have been accepted (time-out, cut socket, unreadable reply): never sent again. `isUnclassified`: the
   * adapter itself broke, which an operator should see.
   */
  | { kind: 'unknown'; reason: string; isUnclassified?: boolean }

export interface ProviderOutput {
  url: string
  /** From the reply or guessed from the URL; null where neither tells. */
  contentType: string | null
  /** How long from now the URL is good for at least; null if the provider promises for ever. */
  urlLifetimeMs: number | null
}

/** What a vendor says a generation took, in its own words: seconds, tokens, credits. The type's price may use it. */
export type Usage = Readonly<Record<string, number | string>>

/** What one poll learned. Only `succeeded`, `failed` and `cancelled` are final. */
export type QueryOutcome =
  /** `queuePosition`: how many are ahead of it, while it waits for its turn and the provider says so. */
  | { kind: 'running'; progress: number | null; queuePosition?: number }
  | { kind: 'succeeded'; outputs: ProviderOutput[]; usage?: Usage | undefined }
  | { kind: 'failed'; code: FailureCode; message: string; retryable: boolean }
  | { kind: 'cancelled' }
  /** The provider does not know the id: final only after the grace period. */
  | { kind: 'not-found' }
  /** Nothing learned (5xx, time-out, garbage, refused connection, rate limit): the task stays as it is (P4). */
  | { kind: 'inconclusive'; reason: string; retryAfterMs: number | null }

/** How many calls of one operation a provider takes. */
export interface OperationLimit {
  perSecond: number
  /** How many may go at once after a pause. @default a twentieth of a second's worth, so that calls are spread */
  burst?: number
  /** How many may be claimed and unfinished at a time, over all replicas. */
  inFlight: number
  /** How many of those a process hands to the adapter at a time; the others wait their turn. @default all */
  atOnce?: number
}

export interface ProviderLimits {
  /** Held over all replicas. */
  create: OperationLimit
  /** Polls, and cancels too. Held over all replicas. */
  query: OperationLimit
  /** Longest that one HTTP call may take. */
  callTimeoutMs: number
  /** Never ask about one task more often than this. */
  minPollMs: number
  /** How long after acceptance "not found" may still mean "not yet visible". */
  notFoundGraceMs: number
}

/** What a vendor sent to our webhook address, as it came. */
export interface WebhookCall {
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  /** The raw bytes: signatures are over these, not over what parsing makes of them. */
  body: Uint8Array
  receivedAtMs: number
  /** The address that was called, as far as the vendor repeats what it was given: an adapter may have added to its query. */
  url?: string
}

/** What a webhook told. It is never believed beyond this: a poll made now finds out the rest. */
export type WebhookReading =
  /**
   * Genuine as far as can be told: `isSigned` says whether by the vendor's signature, or not at all (then only the
   * address it came to proves it). `deliveryId` tells a repeat from a new one, where the vendor names it.
   */
  | { kind: 'about'; externalId: string; deliveryId: string | null; isSigned: boolean }
  /** Well signed, but of no task of ours to look at. */
  | { kind: 'irrelevant' }
  | { kind: 'forged'; reason: string }
  /** Well signed, but too long ago (or in the future): a replay, or a clock that is off. */
  | { kind: 'stale'; reason: string }
  | { kind: 'unreadable'; reason: string }

/** Whether a create whose reply was lost was accepted. */
export type FindOutcome =
  | { kind: 'found'; externalId: string }
  /** Certainly not there: the vendor lists everything, and it is not in the list. */
  | { kind: 'absent' }
  | { kind: 'inconclusive'; reason: string }

export type RefreshOutcome =
  | { kind: 'refreshed'; url: string; urlLifetimeMs: number | null }
  /** There will be no other: the vendor has removed the file. */
  | { kind: 'gone'; reason: string }
  | { kind: 'inconclusive'; reason: string }

/**
 * One external API. Adapters turn a vendor's replies into the outcomes above and never throw for what a vendor,
 * a proxy or the network can do; a thrown error is a bug of ours.
 */
export interface Provider {
  readonly name: string
  readonly limits: ProviderLimits
  create(request: CreateRequest, signal: AbortSignal): Promise<CreateOutcome>
  query(externalId: string, signal: AbortSignal): Promise<QueryOutcome>
  /** Absent where the vendor cannot cancel. Resolves to whether the vendor took it. */
  cancel?(externalId: string, signal: AbortSignal): Promise<boolean>
  /** A new URL for a result whose old one died. Absent where the vendor gives none: then what died is gone. */
  refresh?(
    file: { externalId: string; url: string; ordinal: number },
    signal: AbortSignal,
  ): Promise<RefreshOutcome>
  /** What must be sent along to fetch a result, where the vendor wants its key for that. Never sent to another origin. */
  sourceHeaders?(url: string): Record<string, string>
  /** Absent where the vendor sends no webhooks. */
  readWebhook?(call: WebhookCall): Promise<WebhookReading>
  /**
   * How large a webhook at a task's own address may be: what the vendor may put into one, results and logs included.
   * Those that are larger are refused, and the task is found finished by its poll. @default 256 kB; never above 1 MB
   */
  readonly maxWebhookBytes?: number
  /** Looks for a create whose reply was lost. Absent where the vendor cannot list. */
  find?(request: CreateRequest & { sentAtMs: number }, signal: AbortSignal): Promise<FindOutcome>
  /** Closes connections. Idempotent. */
  close(): Promise<void>
}
