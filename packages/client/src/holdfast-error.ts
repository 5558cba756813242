import type { ProblemCode } from '@holdfast/shared'

interface Details {
  status?: number | null
  traceId?: string | null
  /** What the server asked us to wait before the next try. */
  retryAfterMs?: number
  cause?: unknown
}

/** Everything this package rejects with. Branch on `code`; show `message`. */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError'
  /**
   * A code of the server, `NETWORK` when no answer came, `SIGNED_OUT` when there is no user (any more), `NOT_SENT`
   * when a submit could not be sent for a day, `UNSUPPORTED` when the backend in use has no such call.
   */
  readonly code: ProblemCode | 'NETWORK' | 'SIGNED_OUT' | 'NOT_SENT' | 'UNSUPPORTED'
  /** The HTTP status, or null when there was no answer. */
  declare readonly status: number | null
  /** Quote it when asking the operator: the server's log lines carry the same id. */
  declare readonly traceId: string | null
  /** @internal */
  declare readonly retryAfterMs: number

  constructor(code: HoldfastError['code'], message: string, { cause, ...details }: Details = {}) {
    super(message, { cause })
    this.code = code
    Object.assign(this, { status: null, traceId: null, retryAfterMs: 0 }, details)
  }
}

export function signedOut(): HoldfastError {
  return new HoldfastError('SIGNED_OUT', 'Nobody is signed in.')
}

/** Whether the same call may work later: nothing was decided. */
export function mayPass(error: unknown): error is HoldfastError {
  if (!(error instanceof HoldfastError)) return false
  const { code, status } = error
  if (status === null) return code === 'NETWORK' || code === 'UNAUTHENTICATED'
  return status === 401 || status === 429 || status >= 500
}
