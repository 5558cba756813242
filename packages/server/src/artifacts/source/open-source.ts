import { setImmediate as aTurn } from 'node:timers/promises'
import type { ByteQueue } from './byte-queue.ts'
import { checkUrl, type Target, type UrlRules } from './check-url.ts'
import { createConnections, type Dial, dialByTcp } from './connections.ts'
import { decideType, SAMPLE_BYTES } from './decide-type.ts'
import { exchange, type Reply, tooLarge } from './exchange.ts'
import { type Lookup, lookupInSystem } from './resolve-host.ts'
import { SourceError } from './source-error.ts'
import { startTransferClock, type TransferClock } from './transfer-clock.ts'

export interface SourceOptions extends UrlRules {
  /** More is refused: by the announced length at once, and by count on the way. */
  maxBytes: number
  /** The whole transfer: looking up, connecting, redirects and every byte. */
  timeoutMs: number
  /** Development: http and loopback addresses, and nothing else that is private. @default false */
  allowLoopback?: boolean
  /** Plain http to public addresses. @default false */
  allowHttp?: boolean
  /** Sent to the first URL's own origin only, and never again after a redirect to another. */
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Lets text, JSON or a ZIP through where that is what the task makes. Of images, videos and sound it decides nothing. */
  expectedType?: string | null
}

export interface OpenedSource {
  /** For one reader. Throws a `SourceError` when the transfer breaks or breaks a limit; leaving it closes the connection. */
  body: AsyncIterable<Uint8Array>
  /** From the first bytes. */
  contentType: string
  /** Null: it comes in chunks. */
  declaredBytes: number | null
  finalUrl: string
}

export interface SourceOpener {
  /** Resolves when the first bytes are in and nothing is wrong with them. */
  open(url: string, options: SourceOptions): Promise<OpenedSource>
  /** Ends what is under way. Idempotent. */
  close(): Promise<void>
}

export interface SourceOpenerParts {
  /** @default the system's resolver */
  lookup?: Lookup
  /** @default TCP, and TLS with checked certificates */
  connect?: Dial
  /** Longest silence within a transfer. @default 15 s */
  idleMs?: number
}

const MAX_REDIRECTS = 5

/**
 * Fetches files from URLs that strangers wrote. Nothing here may reach our own network, run out of memory or time, or
 * let something into storage that runs in a browser; see "No way in" in docs/RELIABILITY.md.
 */
export function createSourceOpener(parts: SourceOpenerParts = {}): SourceOpener {
  const { lookup = lookupInSystem, connect = dialByTcp, idleMs = 15_000 } = parts
  const connections = createConnections({ lookup, dial: connect })

  const get = async (
    target: Target,
    headers: Record<string, string>,
    maxBytes: number,
    signal: AbortSignal,
  ) => {
    const send = async (fresh: boolean): Promise<Reply> => {
      const connection = await connections.take(target, { fresh, signal })
      const { reused } = connection
      try {
        return await exchange(connection, target, { connections, headers, idleMs, maxBytes, signal })
      } catch (error) {
        // A kept connection may be closed by the other side in the moment it is used: that says nothing of the file.
        if (reused && error instanceof SourceError && error.code === 'CUT' && !signal.aborted)
          return send(true)
        throw error
      }
    }
    return send(false)
  }

  const follow = async (url: string, options: SourceOptions, clock: TransferClock): Promise<OpenedSource> => {
    let target = checkUrl(url, options)
    let own = options.headers ?? {}
    for (let redirects = 0; ; redirects++) {
      const reply = await get(target, withFixed(own), options.maxBytes, clock.signal)
      const location = readRedirect(reply)
      if (location === null) return await accept(reply, target, options, clock)
      await discard(reply.body)
      if (redirects === MAX_REDIRECTS) {
        throw new SourceError('TOO_MANY_REDIRECTS', `The source redirects more than ${MAX_REDIRECTS} times.`)
      }
      const next = checkUrl(location, options, target.url)
      if (target.url.protocol === 'https:' && next.url.protocol === 'http:') {
        throw new SourceError('SCHEME', 'The source redirects from https to http.')
      }
      if (next.url.origin !== target.url.origin) own = {}
      target = next
    }
  }

  return {
    async open(url, options) {
      const clock = startTransferClock(options.timeoutMs, options.signal)
      try {
        return await follow(url, options, clock)
      } catch (error) {
        clock.end()
        throw error
      }
    },
    close: () => connections.close(),
  }
}

/** Ours win: a caller's header must not ask for a compressed answer or for another host. */
function withFixed(own: Record<string, string>): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(own)) {
    if (!/^(host|cookie|range)$/i.test(name)) headers[name.toLowerCase()] = value
  }
  return { ...headers, accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'Holdfast/1' }
}

function readRedirect(reply: Reply): string | null {
  if (![301, 302, 303, 307, 308].includes(reply.status)) return null
  const location = reply.header('location')
  if (!location) throw badStatus(reply.status)
  return location
}

/** Everything that can be said before a byte is handed on. */
async function accept(
  reply: Reply,
  target: Target,
  options: SourceOptions,
  clock: TransferClock,
): Promise<OpenedSource> {
  try {
    if (reply.status !== 200) throw badStatus(reply.status)
    const declaredBytes = readFraming(reply)
    if (declaredBytes !== null && declaredBytes > options.maxBytes) throw tooLarge(options.maxBytes)
    const sample = await reply.body.peek(SAMPLE_BYTES)
    const contentType = await decideType(sample, reply.header('content-type'), options.expectedType ?? null)
    reply.body.whenOver(clock.end)
    return { body: reply.body, contentType, declaredBytes, finalUrl: target.url.href }
  } catch (error) {
    await discard(reply.body)
    throw error
  }
}

function badStatus(status: number): SourceError {
  if ([401, 403, 404, 410].includes(status)) {
    return new SourceError('EXPIRED', `The source is gone, or its URL has expired (HTTP ${status}).`, {
      status,
    })
  }
  const retryable = status >= 500 || [408, 425, 429].includes(status)
  return new SourceError('STATUS', `The source answered with HTTP ${status}.`, { status, retryable })
}

/** How long the body will be; null if it comes in chunks. Refuses what is compressed or never says where it ends. */
function readFraming(reply: Reply): number | null {
  const encoding = reply.header('content-encoding')?.trim().toLowerCase() ?? ''
  const transfer = reply.header('transfer-encoding')?.trim().toLowerCase() ?? ''
  if ((encoding !== '' && encoding !== 'identity') || (transfer !== '' && transfer !== 'chunked')) {
    throw new SourceError('ENCODED', 'The source is compressed in transit, which was not asked for.')
  }
  if (transfer === 'chunked') return null
  const length = reply.header('content-length')
  if (length !== null && /^\d+$/.test(length)) return Number(length)
  // A body that ends when the connection does cannot be told from one that was cut.
  throw new SourceError('LENGTH_MISMATCH', 'The source does not say how long it is.', { retryable: false })
}

/** A body that nobody wants. If it came along with its headers the connection can be kept, else it is not worth the wait. */
async function discard(body: ByteQueue): Promise<void> {
  await aTurn()
  body.leave()
}
