import type { StreamEvents } from '@holdfast/shared'
import { childAbort } from '../environment/child-abort.ts'
import { createEventReader, type ServerSentEvent } from './event-reader.ts'
import type { StreamOptions, StreamOutcome, TransportLink } from './transport.ts'

/** The server's heart beats every 15 s: two missed beats and a half. */
const SILENT_AFTER_MS = 37_500
/** The snapshot is sent at once; a proxy that holds it back longer than this holds everything back. */
const FIRST_EVENT_WITHIN_MS = 10_000

/** Reads one stream to its end. Rejects when it cannot be opened. */
export async function readStream(
  { http, clock, browserId }: TransportLink,
  options: StreamOptions,
): Promise<StreamOutcome> {
  const { signal, onNews } = options
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
    outcome ??= limit > FIRST_EVENT_WITHIN_MS ? 'silent' : 'mute'
    abort.abort()
  }

  const onEvent = ({ event, data, id }: ServerSentEvent) => {
    if (signal.aborted) return
    limit = SILENT_AFTER_MS
    if (event === 'end') outcome ??= (JSON.parse(data) as StreamEvents['end']).reason
    else if (event === 'snapshot' || event === 'task' || event === 'conversations')
      onNews({ event, data: JSON.parse(data) }, id)
  }

  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  // From here on: some proxies hold even the headers back.
  checkSilence()
  try {
    const headers: Record<string, string> = {
      Accept: 'text/event-stream',
      'X-Holdfast-Browser': browserId(),
      'X-Holdfast-Epoch': String(options.epoch),
    }
    if (options.cursor !== null) headers['Last-Event-ID'] = options.cursor
    const { body } = await http.open('/v1/stream', {
      headers,
      signal: abort.signal,
      fresh: options.freshToken,
    })
    reader = body?.getReader()
    heardAt = clock.now()
    options.onOpen(checkSilence)

    const read = createEventReader(onEvent)
    const decoder = new TextDecoder()
    for (;;) {
      const chunk = await reader?.read()
      if (!chunk || chunk.done) break
      heardAt = clock.now()
      read(decoder.decode(chunk.value, { stream: true }))
    }
  } catch (error) {
    // Once open, a broken connection and a garbled event have the same cure: resume from the last good cursor.
    if (!reader && !outcome) throw error
  } finally {
    callOff()
    abort.abort()
  }
  return outcome ?? 'closed'
}
