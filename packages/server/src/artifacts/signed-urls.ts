import type { Logger } from 'pino'
import type { ObjectStore } from '../objects/object-store.ts'
import { isStoreAway } from '../objects/object-store-error.ts'
import { outageLogOf } from '../outage-log.ts'

export interface SignedUrl {
  /** Null while the store cannot sign. */
  url: string | null
  /** Until when it works at least; for null, when to ask again. By the clock of this process, which signs. */
  expiresAt: Date
}

/** One for each of the keys, in any order. Never throws: what a user asks for is the task, and it is there. */
export type SignUrls = (keys: readonly string[]) => Promise<ReadonlyMap<string, SignedUrl>>

export interface SignUrlsOptions {
  objects: Pick<ObjectStore, 'signUrls'>
  /** Each URL works for this long and is given out for half of it. */
  lifetimeMs: number
  log: Logger
  /** @default Date.now */
  now?: () => number
  /** The longest that a reader waits. @default 3000 */
  waitMs?: number
}

/** About 10 MB of URLs. */
const MOST_KEPT = 20_000
const TRY_AGAIN_MS = 10_000

/**
 * Signs URLs of stored files, all that a reader needs in one call of the store, and gives the same one out until half
 * of its life is over: pictures do not flicker, browsers use what they have, and a list of a thousand tasks that was
 * read a moment ago costs nothing.
 */
export function createSignUrls(options: SignUrlsOptions): SignUrls {
  const { objects, lifetimeMs, log, now = Date.now, waitMs = 3_000 } = options
  const outage = outageLogOf(log, 'The object store')
  const kept = new Map<string, { url: string; expiresAt: Date }>()
  const underWay = new Map<string, Promise<void>>()
  let notBefore = Number.NEGATIVE_INFINITY

  const leftMs = (key: string) => (kept.get(key)?.expiresAt.getTime() ?? 0) - now()

  async function signAnew(keys: string[]): Promise<void> {
    try {
      const expiresAt = new Date(now() + lifetimeMs)
      const urls = await objects.signUrls(keys, { expiresInMs: lifetimeMs })
      outage.back()
      for (const [index, key] of keys.entries()) {
        const url = urls[index]
        if (url === undefined) continue
        // Anew at the end: a map remembers the order, so the first is the oldest.
        kept.delete(key)
        kept.set(key, { url, expiresAt })
      }
      for (const oldest of kept.keys()) {
        if (kept.size <= MOST_KEPT) break
        kept.delete(oldest)
      }
    } catch (error) {
      notBefore = now() + TRY_AGAIN_MS
      const isAway = isStoreAway(error)
      if (isAway) outage.away(error)
      const fields = { err: error, files: keys.length }
      log[isAway ? 'debug' : 'warn'](fields, 'URLs of stored files could not be signed')
    } finally {
      for (const key of keys) underWay.delete(key)
    }
  }

  return async (keys) => {
    const wanted = [...new Set(keys)]
    const old = wanted.filter((key) => leftMs(key) <= lifetimeMs / 2)
    const missing = old.filter((key) => !underWay.has(key))
    if (missing.length > 0 && now() >= notBefore) {
      const signing = signAnew(missing)
      for (const key of missing) underWay.set(key, signing)
    }
    // Whoever has a URL that still works need not wait for a newer one.
    const waitsFor = new Set(old.filter((key) => leftMs(key) <= 0).flatMap((key) => underWay.get(key) ?? []))
    if (waitsFor.size > 0) await atMost(waitMs, Promise.all(waitsFor))
    return new Map(
      wanted.map((key) => {
        const known = leftMs(key) > 0 ? kept.get(key) : undefined
        return [key, known ?? { url: null, expiresAt: new Date(now() + TRY_AGAIN_MS) }]
      }),
    )
  }
}

async function atMost(ms: number, wait: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([wait, timeUp])
  clearTimeout(timer)
}
