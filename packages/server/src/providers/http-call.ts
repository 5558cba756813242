import { type Dispatcher, Pool } from 'undici'
import { type CallGroup, createCallLimits, type Limited } from './call-limits.ts'

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
  const limits = createCallLimits()
  return ({ method, path, headers, body, timeoutMs, signal }) =>
    new Promise((resolve) => {
      const call = new Call(resolve, maxReplyBytes)
      if (signal?.aborted) return call.giveUp(STOPPED)
      call.group = limits.watch(call, timeoutMs, signal)
      try {
        dispatcher.dispatch({ method, path, headers, body: body ?? null }, call)
      } catch (error) {
        call.giveUp(`the request could not be made (${errorCode(error)})`)
      }
    })
}

const STOPPED = 'the call was stopped'

/** A class, since there are thousands at a time: one object each instead of a closure for every event. */
class Call implements Dispatcher.DispatchHandler, Limited {
  group: CallGroup | undefined
  #resolve: (outcome: HttpReply | HttpFailure) => void
  #maxReplyBytes: number
  #controller: Dispatcher.DispatchController | undefined
  #ended = false
  #status = 0
  #headers: Incoming = {}
  #first: Buffer | undefined
  #more: Buffer[] | undefined
  #received = 0

  constructor(resolve: (outcome: HttpReply | HttpFailure) => void, maxReplyBytes: number) {
    this.#resolve = resolve
    this.#maxReplyBytes = maxReplyBytes
  }

  #end(outcome: HttpReply | HttpFailure): void {
    this.#ended = true
    this.group?.remove(this)
    this.#resolve(outcome)
  }

  giveUp(reason: string): void {
    if (this.#ended) return
    this.#end({ kind: this.#controller ? 'cut' : 'not-sent', reason })
    this.#controller?.abort(new Error(reason))
  }

  outOfTime(limitMs: number): void {
    this.giveUp(`no whole reply within ${limitMs} ms`)
  }

  stopped(): void {
    this.giveUp(STOPPED)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up while waiting for a connection, or undici trying the same request a second time.
    if (this.#ended || this.#controller) controller.abort(new Error('not wanted any more'))
    else this.#controller = controller
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Incoming): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#received += chunk.length
    if (this.#received > this.#maxReplyBytes) {
      this.giveUp(`the reply is larger than ${this.#maxReplyBytes} bytes`)
    } else if (!this.#first) this.#first = chunk
    else if (this.#more) this.#more.push(chunk)
    else this.#more = [this.#first, chunk]
  }

  onResponseEnd(): void {
    if (this.#ended) return
    const whole = this.#more ? Buffer.concat(this.#more) : this.#first
    this.#end(new Reply(this.#status, this.#headers, whole?.toString() ?? ''))
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: unknown): void {
    this.giveUp(`${this.#controller ? 'the connection broke' : 'no connection'} (${errorCode(error)})`)
  }
}

class Reply implements HttpReply {
  readonly kind = 'reply'
  readonly status: number
  readonly body: string
  #headers: Incoming

  constructor(status: number, headers: Incoming, body: string) {
    this.status = status
    this.body = body
    this.#headers = headers
  }

  /** Most replies are read without a look at their headers. */
  get headers(): Record<string, string> {
    return toRecord(this.#headers)
  }
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
