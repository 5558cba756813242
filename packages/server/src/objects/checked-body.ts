import { onAbort } from '../providers/on-abort.ts'

export interface BodyLimits {
  /** How many bytes there must be. */
  bytes?: number
  /** Called with how many there were so far. What it throws ends the body. */
  count?: ((received: number) => void) | undefined
  signal?: AbortSignal
}

export interface CheckedBody extends AsyncIterableIterator<Uint8Array, undefined, undefined> {
  /** Throws what it has thrown to its reader, if it has: others wrap or replace that on the way. */
  throwFailure(): void
}

/**
 * The same chunks, but it throws when there are more or fewer bytes than were declared, and as soon as the signal is
 * aborted, even if the body says nothing at that time.
 *
 * The last chunk is given out only when the body has ended well. A server that was promised a length stores what it
 * has got as soon as that many bytes are there, so the last of them must not leave before all is known to be right.
 *
 * It is no generator, because those cannot be ended before their beginning or while they wait for a chunk, and then
 * whatever the body comes from would be kept open.
 */
export function checkedBody(
  body: AsyncIterable<Uint8Array>,
  { bytes, count, signal }: BodyLimits,
): CheckedBody {
  const chunks = body[Symbol.asyncIterator]()
  let ended = false
  let held: Uint8Array | undefined
  let received = 0
  let failure: { error: unknown } | undefined

  async function advance(): Promise<Uint8Array | undefined> {
    while (!ended) {
      const next = await unlessAborted(chunks, signal)
      if (next.done) {
        ended = true
        if (bytes !== undefined && received < bytes) {
          throw new Error(`The body ended after ${received} of ${bytes} bytes.`)
        }
      } else if (next.value.byteLength > 0) {
        received += next.value.byteLength
        if (bytes !== undefined && received > bytes) {
          throw new Error(`The body is longer than the ${bytes} bytes that it was said to have.`)
        }
        count?.(received)
        const before = held
        held = next.value
        if (before) return before
      }
    }
    const last = held
    held = undefined
    return last
  }

  function letGo(): void {
    held = undefined
    if (ended) return
    ended = true
    // Not waited for: a body that hangs in the middle of a chunk would not end before that chunk comes.
    Promise.resolve(chunks.return?.()).catch(() => {})
  }

  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      try {
        const value = await advance()
        return value ? { done: false, value } : { done: true, value: undefined }
      } catch (error) {
        failure ??= { error }
        letGo()
        throw error
      }
    },
    async return() {
      letGo()
      return { done: true, value: undefined }
    },
    throwFailure() {
      if (failure) throw failure.error
    },
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
