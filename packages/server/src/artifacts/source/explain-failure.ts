import { SourceError } from './source-error.ts'

/** How far it had come when it failed. */
export interface FailurePoint {
  host: string
  /** A connection was there, and the request under way. */
  connected: boolean
  /** The answer had begun and had announced its length. */
  declared: boolean
}

/** What undici and the system call a failure, in our words. */
export function explainFailure(error: Error, { host, connected, declared }: FailurePoint): SourceError {
  if (error instanceof SourceError) return error
  const cause = error
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new SourceError('TIMEOUT', `The host ${host} fell silent.`, { cause })
  }
  if (!connected) return new SourceError('CONNECT', `No connection to ${host}.`, { cause })
  // undici has its own word for a short answer only where the connection was to be closed after it; on one that was
  // to be kept, an orderly close looks like any other.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' || (code === 'UND_ERR_SOCKET' && declared)) {
    return new SourceError('LENGTH_MISMATCH', `The host ${host} sent fewer bytes than it had announced.`, {
      cause,
    })
  }
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new SourceError('CUT', `What ${host} sent is not HTTP.`, { cause })
  }
  return new SourceError('CUT', `The connection to ${host} broke.`, { cause })
}
