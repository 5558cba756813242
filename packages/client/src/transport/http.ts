import type { Problem } from '@holdfast/shared'
import { childAbort } from '../environment/child-abort.ts'
import type { Clock } from '../environment/clock.ts'
import { HoldfastError, signedOut } from '../holdfast-error.ts'
import { addressIn, isWholeUrl } from './address-in.ts'
import { createTokens, type GetToken, type Grant } from './tokens.ts'

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

/**
 * Calls of one session that carry the user's token, and so go nowhere but below the base URL: `path` is a path seen from
 * there, or a whole URL below it. Rejects with `HoldfastError` only: with `INVALID_REQUEST` for any other address, before
 * anything is sent, and with `SIGNED_OUT` once the session is over.
 */
export interface Http {
  json<T>(method: 'GET' | 'POST', path: string, options?: RequestOptions): Promise<T>
  open(path: string, options: OpenOptions): Promise<Response>
  /** The same with another base URL. It gets the token: take it from your own settings, never from an answer. */
  at(url: string): Http
}

export interface HttpOptions {
  /** The base URL. '' is the page's origin. */
  url: string
  fetch: typeof fetch
  clock: Clock
  /** Whom to ask for a token now; an app may replace it. */
  tokenSource(): GetToken
  /** Aborts when the session ends. */
  session: AbortSignal
  /** Whether the browser knows that there is no network. */
  isOffline?(): boolean
}

const knowsItIsOffline = () => globalThis.navigator?.onLine === false

export function createHttp(options: HttpOptions): Http {
  const { fetch, clock, session } = options
  const tokens = createTokens({
    tokenSource: options.tokenSource,
    isOffline: options.isOffline ?? knowsItIsOffline,
    limit: (renewal) => call(session, (signal) => unlessAborted(signal, renewal)),
  })
  /** What the last stream was opened with: that is what has expired when a fresh one is wanted. */
  let opened: Grant | undefined

  async function send(address: string, init: RequestInit, signal: AbortSignal, fresh?: boolean) {
    const attempt = async (asked: Grant | Promise<Grant>) => {
      // A token that is at hand is not waited for: then the request is on its way before anything is rendered.
      const grant = asked instanceof Promise ? await unlessAborted(signal, asked) : asked
      if (fresh !== undefined) opened = grant
      const headers = { ...(init.headers as Record<string, string>), Authorization: `Bearer ${grant.token}` }
      // Redirects are followed, since servers add slashes. On the way to another origin browsers drop the token:
      // whatwg/fetch #1544, of November 2022.
      const answer = fetch(address, { ...init, headers, signal, cache: 'no-store' })
      return { grant, response: await unlessAborted(signal, answer) }
    }
    const first = await attempt(fresh ? tokens.renew(opened) : tokens.current())
    let { response } = first
    if (response.status === 401 && !fresh) {
      // Its outcome no longer matters.
      void response.body?.cancel().catch(() => {})
      response = (await attempt(tokens.renew(first.grant))).response
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

  const callsTo = (base: string): Http => ({
    json: <T>(method: 'GET' | 'POST', path: string, { body, headers }: RequestOptions = {}) =>
      call<T>(session, async (signal) => {
        const init: RequestInit = { method, headers }
        if (body !== undefined) {
          init.headers = { ...headers, 'Content-Type': 'application/json' }
          init.body = JSON.stringify(body)
          // A page that is closed lets it go on. Browsers allow 64 kB of such requests at a time.
          init.keepalive = init.body.length < KEEPALIVE_LENGTH
        }
        const response = await send(addressIn(base, path), init, signal)
        return unlessAborted(signal, response.json() as Promise<T>)
      }),
    open: (path, { headers, signal, fresh }) =>
      call(signal, async (own) => send(addressIn(base, path), { headers }, own, fresh)),
    at: (url) => callsTo(isWholeUrl(url) ? url : base + url),
  })
  return callsTo(options.url)
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
