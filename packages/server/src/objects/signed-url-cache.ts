export interface SignedUrlCache {
  get(key: string, expiresInMs: number): string | undefined
  /** For URLs that live `reuseMs` longer than was asked for, and can be given out for so long. */
  set(key: string, url: string, expiresInMs: number, reuseMs: number): void
  delete(key: string): void
}

const MOST = 10_000

/**
 * Where a service signs URLs, each signing is a call, and another URL each time. Remembering them for a while spares
 * the calls, and lets browsers use what they have.
 */
export function createSignedUrlCache(now: () => number, most = MOST): SignedUrlCache {
  const kept = new Map<string, { url: string; expiresInMs: number; until: number }>()
  return {
    get(key, expiresInMs) {
      const found = kept.get(key)
      return found && found.expiresInMs === expiresInMs && found.until > now() ? found.url : undefined
    },
    set(key, url, expiresInMs, reuseMs) {
      // Anew at the end: a map remembers the order, so the first is the oldest.
      kept.delete(key)
      kept.set(key, { url, expiresInMs, until: now() + reuseMs })
      const [oldest] = kept.keys()
      if (kept.size > most && oldest !== undefined) kept.delete(oldest)
    },
    delete: (key) => void kept.delete(key),
  }
}
