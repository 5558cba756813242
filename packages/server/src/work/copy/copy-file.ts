import { createHash } from 'node:crypto'
import type { SourceOpener } from '../../artifacts/source/open-source.ts'
import { SourceError } from '../../artifacts/source/source-error.ts'
import type { ObjectStore } from '../../objects/object-store.ts'
import { ObjectStoreError } from '../../objects/object-store-error.ts'
import { onAbort } from '../../providers/on-abort.ts'

export interface CopyOrder {
  source: Pick<SourceOpener, 'open'>
  objects: Pick<ObjectStore, 'put'>
  url: string
  /** Sent along to the source's own origin. */
  headers?: Record<string, string> | undefined
  key: string
  /** What the provider said that it is. */
  expectedType: string | null
  maxBytes: number
  allowLoopback: boolean
  /** For the whole of it. */
  limitMs: number
  signal: AbortSignal
}

export interface CopyFailure {
  kind: 'failed'
  /** Whose failure it was, as far as can be told: while one of them is waited for, it is the slow one. */
  at: 'source' | 'store'
  code: string
  reason: string
  /** Whether another try may end otherwise. */
  retryable: boolean
}

export type CopyOutcome =
  | { kind: 'copied'; bytes: number; sha256: string; contentType: string }
  /** The signal said so. */
  | { kind: 'stopped' }
  | CopyFailure

/** Made once: one for each file, with its stack, would be a good part of what a small file costs. */
const OVER = new Error('over')

/**
 * Streams one file from its source into the store, counting and hashing what goes by. It never throws, and leaves
 * nothing in the store unless it says `copied`.
 */
export async function copyFile(order: CopyOrder): Promise<CopyOutcome> {
  const { source, objects, url, headers, key, expectedType, maxBytes, allowLoopback, limitMs } = order
  const ending = new AbortController()
  let tooLate = false
  const timer = setTimeout(() => {
    tooLate = true
    ending.abort(new Error('the time for it was over'))
  }, limitMs)
  const stopListening = onAbort(order.signal, () => ending.abort(new Error('stopped')))
  if (order.signal.aborted) ending.abort(new Error('stopped'))

  const hash = createHash('sha256')
  let bytes = 0
  let waitsFor: CopyFailure['at'] = 'source'
  let sha256 = ''
  let sourceError: unknown

  async function* counted(body: AsyncIterable<Uint8Array>) {
    waitsFor = 'source'
    try {
      for await (const chunk of body) {
        hash.update(chunk)
        bytes += chunk.byteLength
        waitsFor = 'store'
        yield chunk
        waitsFor = 'source'
      }
    } catch (error) {
      sourceError = error
      throw error
    }
    sha256 = hash.digest('hex')
    waitsFor = 'store'
  }

  try {
    const opened = await source.open(url, {
      maxBytes,
      // Ours comes first, and knows whom it was waited for.
      timeoutMs: limitMs + 5_000,
      allowLoopback,
      signal: ending.signal,
      ...(headers ? { headers } : {}),
      expectedType,
    })
    const { contentType } = opened
    waitsFor = 'store'
    await objects.put(key, counted(opened.body), {
      contentType,
      sha256: () => sha256,
      signal: ending.signal,
      ...(opened.declaredBytes === null ? {} : { bytes: opened.declaredBytes }),
    })
    if (sha256 === '') return failure('store', 'CUT', 'the store did not read the file to its end', true)
    return { kind: 'copied', bytes, sha256, contentType }
  } catch (error) {
    if (order.signal.aborted) return { kind: 'stopped' }
    if (tooLate) return failure(waitsFor, 'TIMEOUT', `not done within ${limitMs / 1000} s`, true)
    const cause = sourceError ?? error
    if (cause instanceof SourceError) return failure('source', cause.code, cause.message, cause.retryable)
    const isRefused = cause instanceof ObjectStoreError && cause.code === 'STORE_REFUSED'
    return failure('store', codeOf(cause), cause instanceof Error ? cause.message : String(cause), !isRefused)
  } finally {
    clearTimeout(timer)
    stopListening()
    // Lets go of a source that was opened and not read to its end.
    ending.abort(OVER)
  }
}

function failure(at: CopyFailure['at'], code: string, reason: string, retryable: boolean): CopyFailure {
  return { kind: 'failed', at, code, reason, retryable }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'UNKNOWN'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
