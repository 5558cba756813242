import { createHash } from 'node:crypto'

export const MIB = 1024 * 1024

/** Bytes that look random, other ones for another seed; no two stretches of them are alike. */
export function madeBytes(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length)
  let state = (seed * 2_654_435_761) >>> 0 || 1
  for (let at = 0; at + 4 <= length; at += 4) {
    // Xorshift: Marsaglia, 2003.
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    bytes.writeInt32LE(state | 0, at)
  }
  return bytes
}

/** As a network brings it: in pieces, one after the other. */
export async function* inChunks(bytes: Uint8Array, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += size) {
    await new Promise((next) => setImmediate(next))
    yield bytes.subarray(at, at + size)
  }
}

/** As much of it, and then the connection breaks. */
export async function* brokenAfter(bytes: Uint8Array, error: Error): AsyncGenerator<Uint8Array> {
  yield* inChunks(bytes)
  throw error
}

/** As much of it, and then nothing more comes. `ended` tells when the reader has let go of it. */
export function hangingAfter(bytes: Uint8Array): {
  body: AsyncIterable<Uint8Array>
  reached: Promise<void>
  ended(): boolean
} {
  let ended = false
  const { promise: reached, resolve } = Promise.withResolvers<void>()
  const before = inChunks(bytes)
  return {
    reached,
    ended: () => ended,
    body: {
      [Symbol.asyncIterator]: () => ({
        async next() {
          const chunk = await before.next()
          if (!chunk.done) return chunk
          resolve()
          return new Promise<never>(() => {})
        },
        async return() {
          ended = true
          return { done: true, value: undefined }
        },
      }),
    },
  }
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
