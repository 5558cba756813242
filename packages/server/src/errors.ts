import { PROBLEMS, type ProblemCode } from '@holdfast/shared'

/**
 * An outcome that the caller is told about. `code` decides the HTTP status (see `PROBLEMS`); `message` says what
 * happened and what to do next, and is shown to the caller.
 */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError'
  readonly code: ProblemCode
  /** For 429 and 503: when to come back. */
  readonly retryAfterSeconds: number | null

  constructor(
    code: ProblemCode,
    message: string = PROBLEMS[code].title,
    options: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
  }
}
