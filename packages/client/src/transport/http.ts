import type { Problem } from '@holdfast/shared'
import { childAbort } from '../environment/child-abort.ts'
import type { Clock } from '../environment/clock.ts'
import { HoldfastError, signedOut } from '../holdfast-error.ts'

/** Far above any healthy answer; a request that hangs longer is as good as lost. */
const ANSWER_WITHIN_MS = 30_000

/** Four bytes a character at most. */
const KEEPALIVE_LENGTH = 9_999

export interface RequestOptions {
  body?: unknown
  headers?: Record<string, string>
}

export interface OpenOptions {
  headers: Record<string, string>
  /** Ends this one stream; the session's own signal ends it too. */
  signal: AbortSignal
  /** Ask for a new token right away. */
  fresh: boolean
}

/** Authenticated calls of one session; a path that is a whole URL is used as it is. Rejects with `HoldfastError` only; with `SIGNED_OUT` once the session is over. */
export interface Http {
  json<T>(method: 'GET' | 'POST', path: string, options?: RequestOptions): Promise<T>
  open(path: string, options: OpenOptions): Promise<Response>
}

export interface HttpOptions {
  url: string
  fetch: typeof fetch
  clock: Clock
  getToken(options: { fresh: boolean }): string | Promise<string>
  /** Aborts when the session ends. */
  session: AbortSignal
}

export function createHttp({ url, fetch, clock, getToken, session }: HttpOptions): Http {
  async function attempt(path: string, init: RequestInit, fresh: boolean, signal: AbortSignal) {
    let token: string
    try {
      const given = getToken({ fresh })
      // A token that is at hand is not waited for: then the request is on its way before anything is rendered.
      token = typeof given === 'string' ? given : await unlessAborted(signal, given)
    } catch (cause) {
      if (signal.aborted) throw cause
      throw new HoldfastError('UNAUTHENTICATED', 'getToken() failed; nothing was sent.', { cause })
    }
    const headers = { ...(init.headers as Record<string, string>), Authorization: `Bearer ${token}` }
    const target = /^https?:/.test(path) ? path : url + path
    return unlessAborted(signal, fetch(target, { ...init, headers, signal, cache: 'no-store' }))
  }

  async function send(path: string, init: RequestInit, fresh: boolean, signal: AbortSignal) {
    let response = await attempt(path, init, fresh, signal)
    if (response.status === 401 && !fresh) {
      // Its outcome no longer matters.
      void response.body?.cancel().catch(() => {})
      response = await attempt(path, init, true, signal)
    }
    if (!response.ok) throw await unlessAborted(signal, toError(response))
    return response
  }

  function coerce(cause: unknown) {
    if (session.aborted) return signedOut()
    if (cause instanceof HoldfastError) return cause
    return new HoldfastError('NETWORK', 'The server did not answer. Try again.', {
      cause,
    })
  }

  /** One call with a limit on how long its answer may take. */
  async function call<T>(parent: AbortSignal, use: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = childAbort(parent)
    const callOff = clock.after(ANSWER_WITHIN_MS, abort.abort)
    try {
      return await use(abort.signal)
    } catch (error) {
      throw coerce(error)
    } finally {
      callOff()
      // A stream is read on after its headers, and its parent lives no longer than it does.
      if (parent === session) abort.abort()
    }
  }

  return {
    json: <T>(method: 'GET' | 'POST', path: string, { body, headers }: RequestOptions = {}) =>
      call<T>(session, async (signal) => {
        const init: RequestInit = { method, headers }
        if (body !== undefined) {
          init.headers = { ...headers, 'Content-Type': 'application/json' }
          init.body = JSON.stringify(body)
          // A page that is closed lets it go on. Browsers allow 64 kB of such requests at a time.
          init.keepalive = init.body.length < KEEPALIVE_LENGTH
        }
        const response = await send(path, init, false, signal)
        return unlessAborted(signal, response.json() as Promise<T>)
      }),
    open: (path, { headers, signal, fresh }) => call(signal, (own) => send(path, { headers }, fresh, own)),
  }
}

/** Also covers promises that know nothing of the signal, such as the app's `getToken`. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

const CODES: Record<number, HoldfastError['code']> = {
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  429: 'RATE_LIMITED',
}

async function toError(response: Response): Promise<HoldfastError> {
  const problem: Partial<Problem> = await response.json().catch(() => ({}))
  const { status } = response
  const retryAfterMs = Number(response.headers.get('Retry-After')) * 1_000 || 0
  return new HoldfastError(
    // Proxies answer without our problem JSON; what they mean is in the status.
    problem.code ?? CODES[status] ?? (status < 500 ? 'INVALID_REQUEST' : 'UNAVAILABLE'),
    problem.detail ?? problem.title ?? `The server answered ${status}.`,
    { status, traceId: problem.traceId ?? null, retryAfterMs },
  )
}
