import { onAbort } from '../providers/on-abort.ts'

export interface BodyLimits {
  /** How many bytes there must be. */
  bytes?: number
  signal?: AbortSignal
}

/**
 * The same chunks, but it throws when there are more or fewer bytes than were declared, and as soon as the signal is
 * aborted, even if the body says nothing at that time.
 *
 * The last chunk is given out only when the body has ended well. A server that was promised a length stores what it
 * has got as soon as that many bytes are there, so the last of them must not leave before all is known to be right.
 */
export async function* checkedBody(
  body: AsyncIterable<Uint8Array>,
  { bytes, signal }: BodyLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = body[Symbol.asyncIterator]()
  let ended = false
  let held: Uint8Array | undefined
  let received = 0
  try {
    while (!ended) {
      const next = await unlessAborted(chunks, signal)
      if (next.done) {
        ended = true
      } else if (next.value.byteLength > 0) {
        received += next.value.byteLength
        if (bytes !== undefined && received > bytes) {
          throw new Error(`The body is longer than the ${bytes} bytes that it was said to have.`)
        }
        if (held) yield held
        held = next.value
      }
    }
    if (bytes !== undefined && received < bytes) {
      throw new Error(`The body ended after ${received} of ${bytes} bytes.`)
    }
    if (held) yield held
  } finally {
    // Not waited for: a body that hangs in the middle of a chunk would not end before that chunk comes.
    if (!ended) Promise.resolve(chunks.return?.()).catch(() => {})
  }
}

// Not Promise.race: its promise for the signal would remember every chunk until the end.
function unlessAborted<T>(
  chunks: AsyncIterator<T>,
  signal: AbortSignal | undefined,
): Promise<IteratorResult<T>> {
  if (!signal) return chunks.next()
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const stopListening = onAbort(signal, () => reject(signal.reason))
    chunks.next().then(resolve, reject).finally(stopListening)
  })
}

/** The same chunks; tells afterwards what the body itself threw, which others wrap or replace on the way. */
export function rememberFailure(body: AsyncIterable<Uint8Array>): {
  body: AsyncGenerator<Uint8Array, void, undefined>
  /** Throws what the body has thrown, if it has. */
  throwFailure(): void
} {
  let failure: { error: unknown } | undefined
  async function* remembering() {
    try {
      yield* body
    } catch (error) {
      failure = { error }
      throw error
    }
  }
  return {
    body: remembering(),
    throwFailure() {
      if (failure) throw failure.error
    },
  }
}
