import { type Dispatcher, Pool } from 'undici'
import { onAbort } from './on-abort.ts'

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With the query, such as `/v1/things?id=7`. */
  path: string
  headers: Record<string, string>
  body?: string | Uint8Array
  /** The whole call: waiting for a connection, sending, and reading the reply. */
  timeoutMs: number
  signal?: AbortSignal
}

export interface HttpReply {
  kind: 'reply'
  status: number
  /** Lower-case names; a header sent twice is joined with a comma. */
  headers: Record<string, string>
  body: string
}

/**
 * A call without a whole reply. The two kinds answer the only question that matters for a create: can the other
 * side have seen it? Reasons are made of our own words and error codes, so that no header can leak through them.
 */
export type HttpFailure =
  /** Certain: not one byte of the request was written. */
  | { kind: 'not-sent'; reason: string }
  /** It was being sent, or had been; the other side may have acted on it. */
  | { kind: 'cut'; reason: string }

export type HttpCall = (request: HttpRequest) => Promise<HttpReply | HttpFailure>

export interface HttpCallOptions {
  dispatcher: Dispatcher
  /** Replies beyond this are cut. @default 1 MB */
  maxReplyBytes?: number
}

/**
 * Connections to one origin. HTTP/1.1 only: undici may send a request again on another HTTP/2 session, and for
 * a create that would be a second generation.
 *
 * `reuse: false` opens a connection per call. A kept-alive connection can be closed by the other side in the very
 * moment it is written to, and then nobody knows whether the request was read: fine for a poll, too dear for a create.
 */
export function openPool(
  origin: string,
  { reuse, connections }: { reuse: boolean; connections: number },
): Pool {
  return new Pool(origin, {
    connections,
    pipelining: reuse ? 1 : 0,
    allowH2: false,
    // The call's own limit covers these phases; two clocks would only blur the reason.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/**
 * One HTTP call that always resolves: to the reply, or to what is known about the failure.
 *
 * It hands its own handler to `dispatch` instead of calling `request`, because only the handler learns when undici
 * starts to write. Guessing that from error codes goes wrong: ECONNRESET happens both in a TLS handshake and after
 * a create was read, and an abort looks the same before and after sending. It also lets a call end at its time
 * limit while it still waits for a connection, which `request` does not.
 */
export function createHttpCall({ dispatcher, maxReplyBytes = 1_000_000 }: HttpCallOptions): HttpCall {
  return ({ method, path, headers, body, timeoutMs, signal }) =>
    new Promise((resolve) => {
      let started = false
      let ended = false
      let abortRequest: ((reason: Error) => void) | undefined
      let status = 0
      let incoming: Incoming = {}
      let stopListening: (() => void) | undefined
      const chunks: Buffer[] = []
      let received = 0

      const end = (outcome: HttpReply | HttpFailure) => {
        if (ended) return
        ended = true
        clearTimeout(timer)
        stopListening?.()
        resolve(outcome)
      }
      const giveUp = (reason: string) => {
        if (ended) return
        end({ kind: started ? 'cut' : 'not-sent', reason })
        abortRequest?.(new Error(reason))
      }
      const stopped = () => giveUp('the call was stopped')
      const timer = setTimeout(() => giveUp(`no whole reply within ${timeoutMs} ms`), timeoutMs)
      if (signal?.aborted) return stopped()
      if (signal) stopListening = onAbort(signal, stopped)

      const handler: Dispatcher.DispatchHandler = {
        onRequestStart(controller) {
          // Given up while waiting for a connection, or undici trying the same request a second time.
          if (ended || started) return controller.abort(new Error('not wanted any more'))
          started = true
          abortRequest = (reason) => controller.abort(reason)
        },
        onResponseStart(_controller, statusCode, replyHeaders) {
          if (statusCode < 200) return
          status = statusCode
          incoming = replyHeaders
        },
        onResponseData(_controller, chunk) {
          received += chunk.length
          if (received > maxReplyBytes) giveUp(`the reply is larger than ${maxReplyBytes} bytes`)
          else chunks.push(chunk)
        },
        onResponseEnd() {
          const [only] = chunks
          const whole = chunks.length === 1 && only ? only : Buffer.concat(chunks)
          const headers = incoming
          end({
            kind: 'reply',
            status,
            // Most replies are read without a look at their headers.
            get headers() {
              return toRecord(headers)
            },
            body: whole.toString('utf8'),
          })
        },
        onResponseError(_controller, error) {
          giveUp(`${started ? 'the connection broke' : 'no connection'} (${errorCode(error)})`)
        },
      }

      try {
        dispatcher.dispatch({ method, path, headers, body: body ?? null }, handler)
      } catch (error) {
        giveUp(`the request could not be made (${errorCode(error)})`)
      }
    })
}

type Incoming = Record<string, string | string[] | undefined>

function toRecord(incoming: Incoming): Record<string, string> {
  return Object.fromEntries(
    Object.entries(incoming).map(([name, value]) => [name.toLowerCase(), String(value ?? '')]),
  )
}

/** Only the code: a message may quote what was sent. */
function errorCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return errorCode(error.errors[0])
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[A-Z0-9_]+$/.test(code) ? code : 'no code'
}
