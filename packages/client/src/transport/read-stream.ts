import type { StreamEnd, StreamEvents } from '@holdfast/shared'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { childAbort } from '../environment/child-abort.ts'
import type { Clock } from '../environment/clock.ts'
import type { Http } from './http.ts'

/** The server's heart beats every 15 s: three missed beats. */
const SILENT_AFTER_MS = 45_000
/** The snapshot is sent at once; a proxy that holds it back longer than this holds everything back. */
const FIRST_EVENT_WITHIN_MS = 10_000

export type StreamNews = { [E in 'snapshot' | 'task']: { event: E; data: StreamEvents[E] } }[
  | 'snapshot'
  | 'task']

/**
 * Why a stream is over: the server said so (`token-expired`, `shutdown`), it broke (`closed`), it went quiet
 * (`silent`), or nothing ever came through (`mute`: something between us and the server collects streams).
 */
export type StreamOutcome = StreamEnd | 'closed' | 'silent' | 'mute'

export interface ReadStreamOptions {
  http: Http
  clock: Clock
  /** Resume from here. */
  cursor: string | null
  /** Lets the server close the older of two streams of one browser. */
  browserId: string
  freshToken: boolean
  signal: AbortSignal
  /** Called with each piece of news and the cursor that includes it. */
  onNews(news: StreamNews, cursor: string | null): void
  /** Given a function that ends the stream now if it has been silent for too long (timers sleep with the machine). */
  onOpen(checkSilence: () => void): void
}

/** Reads one stream to its end. Rejects when it cannot be opened. */
export async function readStream(options: ReadStreamOptions): Promise<StreamOutcome> {
  const { http, clock, signal, onNews } = options
  const abort = childAbort(signal)
  let outcome: StreamOutcome | undefined
  let heardAt = clock.now()
  let limit = FIRST_EVENT_WITHIN_MS
  let callOff = () => {}

  const checkSilence = () => {
    callOff()
    const left = heardAt + limit - clock.now()
    if (left > 0) {
      callOff = clock.after(left, checkSilence)
      return
    }
    outcome ??= limit === SILENT_AFTER_MS ? 'silent' : 'mute'
    abort.abort()
  }

  const onEvent = ({ event, data, id }: EventSourceMessage) => {
    if (signal.aborted) return
    limit = SILENT_AFTER_MS
    if (event === 'end') outcome ??= (JSON.parse(data) as StreamEvents['end']).reason
    else if (event === 'snapshot' || event === 'task') onNews({ event, data: JSON.parse(data) }, id ?? null)
  }

  try {
    const headers: Record<string, string> = {
      Accept: 'text/event-stream',
      'X-Holdfast-Browser': options.browserId,
    }
    if (options.cursor !== null) headers['Last-Event-ID'] = options.cursor
    const { body } = await http.open('/v1/stream', {
      headers,
      signal: abort.signal,
      fresh: options.freshToken,
    })
    const reader = body?.getReader()
    heardAt = clock.now()
    checkSilence()
    options.onOpen(checkSilence)

    const parser = createParser({ onEvent })
    const decoder = new TextDecoder()
    try {
      for (;;) {
        const chunk = await reader?.read()
        if (!chunk || chunk.done) break
        heardAt = clock.now()
        parser.feed(decoder.decode(chunk.value, { stream: true }))
      }
    } catch {
      // A broken connection and a garbled event have the same cure: resume from the last good cursor.
    }
    return outcome ?? 'closed'
  } finally {
    callOff()
    abort.abort()
    abort.release()
  }
}
