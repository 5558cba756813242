import type { StreamEnd } from '@holdfast/shared'
import type { FeedReader } from './user-feed.ts'

export interface EventStreamOptions {
  reader: FeedReader
  heartbeatMs: number
  /** A client that takes nothing for so long is cut off. */
  stallMs: number
  /** For how many milliseconds, by our clock, its token is still good; null: for ever. */
  expiresInMs: number | null
  /** What a browser waits before it reconnects. */
  retryMs: number
  /** Drops the connection: a client that does not read would not notice a polite end. */
  cut(): void
  /** Called once, whoever ended it. */
  onClose(how: 'gone' | 'stalled' | StreamEnd): void
}

/** Server-sent events to one client. */
export interface EventStream {
  body: ReadableStream<Uint8Array>
  /** There is something to take from the reader. */
  news(): void
  /** Says why and ends it. */
  end(reason: StreamEnd): void
}

const encoder = new TextEncoder()
const BEAT = encoder.encode(': still here\n\n')
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Bytes are made when the client can take them and not before: the stream has no queue, and the socket holds one piece
 * at most. Streams by hand instead of by `streamSSE`, because one of ten thousand has to be small: no transform, no
 * encoder, no promise and no loop of its own.
 */
export function createEventStream(options: EventStreamOptions): EventStream {
  const { reader, heartbeatMs, stallMs, retryMs, onClose } = options
  const expiresAt = options.expiresInMs === null ? null : performance.now() + options.expiresInMs
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let isFirst = true
  /** The client waits for us; otherwise we wait for the client. */
  let isWanted = false
  let ending: StreamEnd | null = null
  let isClosed = false
  let sentAt = performance.now()
  let timer: NodeJS.Timeout | undefined

  function close(how: 'gone' | 'stalled' | StreamEnd): void {
    if (isClosed) return
    isClosed = true
    clearTimeout(timer)
    reader.leave()
    onClose(how)
  }

  function send(bytes: Uint8Array): void {
    isWanted = false
    sentAt = performance.now()
    controller?.enqueue(bytes)
  }

  /** Gives the client what there is, or remembers that it waits. */
  function give(): void {
    if (isClosed) return
    if (isFirst) {
      isFirst = false
      // In the same event: a block without data would be one that says nothing.
      send(Buffer.concat([encoder.encode(`retry: ${Math.round(retryMs)}\n`), reader.snapshot]))
      return
    }
    const bytes = ending === null ? reader.next() : null
    if (bytes) send(bytes)
    else if (ending !== null) {
      send(encoder.encode(`event: end\ndata: ${JSON.stringify({ reason: ending })}\n\n`))
      controller?.close()
      close(ending)
    } else isWanted = true
  }

  function tick(): void {
    const now = performance.now()
    if (expiresAt !== null && now >= expiresAt && ending === null) end('token-expired')
    if (isClosed) return
    if (!isWanted && now - sentAt >= stallMs) {
      close('stalled')
      options.cut()
      return
    }
    if (isWanted && now - sentAt >= heartbeatMs) send(BEAT)
    arm()
  }

  function arm(): void {
    const now = performance.now()
    let at = isWanted ? sentAt + heartbeatMs : Math.min(sentAt + stallMs, now + heartbeatMs)
    if (expiresAt !== null && ending === null) at = Math.min(at, expiresAt)
    timer = setTimeout(tick, Math.min(MAX_TIMER_MS, Math.max(1, at - now)))
  }

  function end(reason: StreamEnd): void {
    if (isClosed || ending !== null) return
    ending = reason
    // Its place is free at once, whether or not the client is there to hear why.
    reader.leave()
    if (isWanted) give()
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
      },
      pull: give,
      cancel: () => close('gone'),
    },
    { highWaterMark: 0 },
  )
  arm()
  return {
    body,
    news() {
      if (isWanted) give()
    },
    end,
  }
}
