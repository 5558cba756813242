/** Chunks on their way from a socket to whoever reads them. */
export interface ByteQueue extends AsyncIterable<Uint8Array> {
  /** False when enough is waiting and the other side should pause; `onRoom` says when to go on. */
  push(chunk: Uint8Array): boolean
  end(): void
  /** What waits is dropped: nobody should go on with a body that is known to be bad. */
  fail(error: Error): void
  /** The first bytes, without taking them: `bytes` of them, or fewer if the body ends before. */
  peek(bytes: number): Promise<Uint8Array>
  /** Reads no further. */
  leave(): void
  /** Calls back once, when the last byte was pushed, or it failed, or its reader left. At once if that has been. */
  whenOver(listener: () => void): void
}

export interface ByteQueueOptions {
  /** Bytes that may wait. @default 256 KiB */
  highWaterBytes?: number
  onRoom(): void
  /** The reader left before the end. */
  onAbandon(): void
}

/**
 * A body as an async iterator, with backpressure, for one reader. Written by hand because it is on the path of every
 * byte: a chunk that waits is handed over without a stream's bookkeeping, and none is copied.
 */
export function createByteQueue({
  highWaterBytes = 256 * 1024,
  onRoom,
  onAbandon,
}: ByteQueueOptions): ByteQueue {
  let chunks: Uint8Array[] = []
  let head = 0
  let waiting = 0
  let full = false
  let state: 'open' | 'ended' | 'left' = 'open'
  let failure: Error | null = null
  let over: (() => void)[] = []
  let wake: (() => void)[] = []

  const changed = () => {
    const woken = wake
    if (woken.length === 0) return
    wake = []
    for (const each of woken) each()
  }
  const change = () => new Promise<void>((resolve) => wake.push(resolve))
  const isOver = () => state !== 'open' || failure !== null
  const finish = () => {
    const listeners = over
    over = []
    for (const listener of listeners) listener()
    changed()
  }
  const drop = () => {
    chunks = []
    head = 0
    waiting = 0
  }

  const take = (): Uint8Array | undefined => {
    const chunk = chunks[head]
    if (!chunk) return undefined
    head++
    waiting -= chunk.length
    if (head === chunks.length) {
      chunks = []
      head = 0
    }
    if (full && waiting <= highWaterBytes / 2) {
      full = false
      onRoom()
    }
    return chunk
  }

  const leave = () => {
    const early = !isOver()
    if (state === 'open') state = 'left'
    drop()
    if (early) onAbandon()
    finish()
  }

  const iterator: AsyncIterableIterator<Uint8Array, undefined> = {
    async next() {
      for (;;) {
        if (failure) throw failure
        const value = take()
        if (value) return { value, done: false }
        if (state !== 'open') return { value: undefined, done: true }
        await change()
      }
    },
    async return() {
      leave()
      return { value: undefined, done: true }
    },
    [Symbol.asyncIterator]: () => iterator,
  }

  return {
    push(chunk) {
      if (isOver() || chunk.length === 0) return true
      chunks.push(chunk)
      waiting += chunk.length
      full = waiting >= highWaterBytes
      changed()
      return !full
    },
    end() {
      if (isOver()) return
      state = 'ended'
      finish()
    },
    fail(error) {
      if (isOver()) return
      failure = error
      drop()
      finish()
    },
    async peek(bytes) {
      while (!isOver() && waiting < bytes) await change()
      if (failure) throw failure
      const first = chunks[head]
      if (first && first.length >= bytes) return first.subarray(0, bytes)
      return Buffer.concat(chunks.slice(head), Math.min(waiting, bytes))
    },
    leave,
    whenOver(listener) {
      if (isOver()) listener()
      else over.push(listener)
    },
    [Symbol.asyncIterator]: () => iterator,
  }
}
