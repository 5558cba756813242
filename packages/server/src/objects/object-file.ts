import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { z } from 'zod'
import { type BodyLimits, checkedBody } from './checked-body.ts'
import type { PutOptions, StoredObject } from './object-store.ts'
import { writeChunks } from './write-chunks.ts'

/**
 * One object is one file: its bytes, then a trailer that says what they are. With the trailer in the same file one
 * rename replaces both; it comes last because the length and the hash of a stream are known last; and it has a fixed
 * size, so that it is found without a search. Viewers of images and videos ignore it.
 */
const TRAILER_BYTES = 512
const READ_BYTES = 128 * 1024

const trailerSchema = z.object({
  holdfast: z.literal('object'),
  bytes: z.int().min(0),
  contentType: z.string(),
  etag: z.string().regex(/^[0-9a-f]{64}$/),
})

export interface OpenedObject extends StoredObject {
  /** Changes with the bytes and with the content type. */
  etag: string
  /** From `start` up to, not including, `end`. Ending or cancelling the stream closes the file. */
  stream(start: number, end: number): ReadableStream<Uint8Array>
  /** Idempotent. */
  close(): Promise<void>
}

/** Writes a whole object into a new file and makes sure that it is on the disk. */
export async function writeObjectFile(
  path: string,
  body: AsyncIterable<Uint8Array>,
  { contentType, sha256, ...limits }: BodyLimits & Pick<PutOptions, 'contentType' | 'sha256'>,
): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    const hash = sha256 ? null : createHash('sha256')
    let bytes = 0
    async function* withTrailer() {
      for await (const chunk of checkedBody(body, limits)) {
        hash?.update(chunk)
        bytes += chunk.byteLength
        yield chunk
      }
      const digest = hash?.digest('hex') ?? sha256?.() ?? ''
      const etag = createHash('sha256').update(`${digest} ${contentType}`).digest('hex')
      const trailer = JSON.stringify({ holdfast: 'object', bytes, contentType, etag } satisfies Trailer)
      yield Buffer.from(trailer.padEnd(TRAILER_BYTES))
    }
    await writeChunks(file, withTrailer())
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Null if there is no such file. An open object stays readable when it is overwritten or deleted. */
export async function openObjectFile(path: string): Promise<OpenedObject | null> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  if (!file) return null
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= file.close()
    return closed
  }
  try {
    const { bytes, contentType, etag } = await readTrailer(file)
    const stream = (start: number, end: number) =>
      streamOf(file, { start, end, close, isClosed: () => closed !== undefined })
    return { bytes, contentType, etag, close, stream }
  } catch (error) {
    await close()
    throw new Error(`${path} is not a whole object file.`, { cause: error })
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

type Trailer = z.infer<typeof trailerSchema>

async function readTrailer(file: FileHandle): Promise<Trailer> {
  const { size } = await file.stat()
  const { buffer } = await file.read(
    Buffer.alloc(TRAILER_BYTES),
    0,
    TRAILER_BYTES,
    Math.max(0, size - TRAILER_BYTES),
  )
  const trailer = trailerSchema.parse(JSON.parse(buffer.toString('utf8')))
  if (trailer.bytes + TRAILER_BYTES !== size) throw new Error(`It has ${size} bytes.`)
  return trailer
}

interface StreamOptions {
  start: number
  end: number
  close(): Promise<void>
  isClosed(): boolean
}

function streamOf(file: FileHandle, options: StreamOptions): ReadableStream<Uint8Array> {
  const { start, end, close, isClosed } = options
  let position = start
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const wanted = Math.min(READ_BYTES, end - position)
          const { bytesRead, buffer } = await file.read(Buffer.allocUnsafeSlow(wanted), 0, wanted, position)
          if (bytesRead < 1 && wanted > 0) throw new Error('The file ended early.')
          position += bytesRead
          if (bytesRead > 0) controller.enqueue(buffer.subarray(0, bytesRead))
          if (position < end) return
          await close()
          controller.close()
        } catch (error) {
          // Closed from outside: whoever read it has left, and there is nobody to tell.
          if (isClosed()) return controller.close()
          await close()
          throw error
        }
      },
      cancel: close,
    },
    // Reads nothing before somebody wants it.
    { highWaterMark: 0 },
  )
}
