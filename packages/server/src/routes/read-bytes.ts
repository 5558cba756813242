import type { Context } from 'hono'
import { HoldfastError } from '../errors.ts'
import type { AppEnv } from './app-context.ts'

export interface ByteLimits {
  maxBytes: number
  /** A body that is not there by then is given up, however steadily it trickles. */
  withinMs: number
}

/**
 * The body of a request, as long as it keeps to its limits: what says that it is larger is refused unread, what turns
 * out to be larger is left at that moment.
 */
export async function readBytes(
  c: Context<AppEnv>,
  { maxBytes, withinMs }: ByteLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () =>
    new HoldfastError('BODY_TOO_LARGE', `The body may have at most ${Math.floor(maxBytes / 1024)} kB here.`)
  if (Number(c.req.header('content-length') ?? 0) > maxBytes) throw tooLarge()
  const reader = c.req.raw.body?.getReader()
  if (!reader) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new HoldfastError('BODY_TOO_SLOW', `The body was not there within ${withinMs / 1000} s.`)),
      withinMs,
    )
  })
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), timeUp])
      if (done) return Buffer.concat(chunks)
      size += value.byteLength
      if (size > maxBytes) throw tooLarge()
      chunks.push(value)
    }
  } catch (error) {
    // Node drops what still comes; nobody waits for it.
    void reader.cancel().catch(() => {})
    throw error
  } finally {
    clearTimeout(timer)
  }
}
