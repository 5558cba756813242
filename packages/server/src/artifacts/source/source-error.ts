export type SourceErrorCode =
  /** Not a URL, or one that carries credentials or port 0. */
  | 'BAD_URL'
  /** Neither https nor an allowed http. */
  | 'SCHEME'
  /** It leads to an address that is not public. */
  | 'FORBIDDEN_ADDRESS'
  | 'DNS'
  | 'CONNECT'
  | 'TIMEOUT'
  | 'TOO_MANY_REDIRECTS'
  /** An answer that is not the file. */
  | 'STATUS'
  /** 401, 403, 404 or 410: the file is gone, or wants a fresh URL. */
  | 'EXPIRED'
  | 'TOO_LARGE'
  /** More or fewer bytes than announced, or an answer that does not say where it ends. */
  | 'LENGTH_MISMATCH'
  | 'WRONG_TYPE'
  /** Compressed in transit, which was not asked for. */
  | 'ENCODED'
  /** The transfer broke off, or what came was not HTTP, or the caller stopped it. */
  | 'CUT'

/** Codes that say something about this moment and not about the URL: the same URL may work later. */
const PASSING: ReadonlySet<SourceErrorCode> = new Set(['DNS', 'CONNECT', 'TIMEOUT', 'LENGTH_MISMATCH', 'CUT'])

/**
 * A result file that could not be fetched, or was refused. Messages name the host and never the path, the query, a
 * header or an address: result URLs are often signed, and what a name resolves to inside our network is nobody's
 * business (S3).
 */
export class SourceError extends Error {
  override readonly name = 'SourceError'
  readonly code: SourceErrorCode
  /** Whether the same URL may work later. */
  readonly retryable: boolean
  /** The HTTP status, where one was the reason. */
  readonly status: number | null

  constructor(
    code: SourceErrorCode,
    message: string,
    options: { cause?: unknown; status?: number; retryable?: boolean } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.status = options.status ?? null
    this.retryable = options.retryable ?? PASSING.has(code)
  }
}
