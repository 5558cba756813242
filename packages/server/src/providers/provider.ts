import type { FailureCode } from '@holdfast/shared'

/** What an adapter needs to know to ask a provider for one generation. */
export interface CreateRequest {
  taskId: string
  /** The task type, such as `image`. */
  type: string
  /** The stored parameters: checked against the type's schema, without secrets. */
  params: Record<string, unknown>
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
  /** May or may not have been accepted (time-out, cut socket, unreadable reply): never sent again. */
  | { kind: 'unknown'; reason: string }

export interface ProviderOutput {
  url: string
  /** From the reply or guessed from the URL; null where neither tells. */
  contentType: string | null
  /** How long from now the URL is good for at least; null if the provider promises for ever. */
  urlLifetimeMs: number | null
}

/** What one poll learned. Only `succeeded`, `failed` and `cancelled` are final. */
export type QueryOutcome =
  | { kind: 'running'; progress: number | null }
  | { kind: 'succeeded'; outputs: ProviderOutput[] }
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
  inFlight: number
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
  /** Closes connections. Idempotent. */
  close(): Promise<void>
}
