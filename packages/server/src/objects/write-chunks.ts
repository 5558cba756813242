import type { FileHandle } from 'node:fs/promises'

/** What a write is worth: each is a trip to another thread and back, so that most files should be one. */
const LEAST_WRITE = 256 * 1024
/** What may wait for the disk. Enough for one write while the chunks of the next one come. */
const MOST_WAITING = 1024 * 1024

/**
 * Writes a body to a file, one write at a time, and takes the next chunks in while the disk is at work: they are written
 * together by the write after it. One after the other, a large file would wait for the network and the disk in turns.
 */
export async function writeChunks(file: FileHandle, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  let writing: Promise<void> | null = null
  let failure: { error: unknown } | undefined

  async function writeWaiting(): Promise<void> {
    const batch = waiting
    waiting = []
    waitingBytes = 0
    await writeBatch(file, batch)
  }

  async function writeOn(): Promise<void> {
    try {
      while (waitingBytes >= LEAST_WRITE) await writeWaiting()
    } catch (error) {
      failure = { error }
    }
    writing = null
  }

  try {
    for await (const chunk of chunks) {
      if (failure) break
      waiting.push(chunk)
      waitingBytes += chunk.byteLength
      if (waitingBytes >= LEAST_WRITE) writing ??= writeOn()
      if (waitingBytes >= MOST_WAITING) await writing
    }
  } finally {
    // Whoever closes the file must not do so under a write.
    await writing
  }
  if (failure) throw failure.error
  if (waiting.length > 0) await writeWaiting()
}

async function writeBatch(file: FileHandle, batch: Uint8Array[]): Promise<void> {
  const [only] = batch
  const total = batch.reduce((sum, chunk) => sum + chunk.byteLength, 0)
  const { bytesWritten } = batch.length === 1 && only ? await file.write(only) : await file.writev(batch)
  if (bytesWritten === total) return
  // A full disk, a signal: the rest is written chunk by chunk, or the reason for it is thrown.
  const rest = Buffer.concat(batch).subarray(bytesWritten)
  for (let at = 0; at < rest.byteLength; ) at += (await file.write(rest, at)).bytesWritten
}
