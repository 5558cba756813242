import type { Lock } from '../src/locks/lock.ts'

export interface FakeLock extends Lock {
  /** Takes every lock away from who holds it, and keeps it until `giveBack`. */
  lose(): void
  giveBack(): void
  /** The names that are held right now. */
  readonly held: ReadonlySet<string>
}

/** A lock that does as the test says. Held at once, until it is lost. */
export function createFakeLock(): FakeLock {
  const held = new Map<string, AbortController>()
  let away = false
  const waiting = new Set<() => void>()

  return {
    get held() {
      return new Set(held.keys())
    },
    lose() {
      away = true
      for (const lost of held.values()) lost.abort(new Error('the lock was lost'))
      held.clear()
    },
    giveBack() {
      away = false
      for (const resume of waiting) resume()
    },
    async acquire(name, signal) {
      while (away) {
        signal.throwIfAborted()
        await new Promise<void>((resolve) => {
          waiting.add(resolve)
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
      signal.throwIfAborted()
      const lost = new AbortController()
      held.set(name, lost)
      return {
        lost: lost.signal,
        async release() {
          if (held.get(name) === lost) held.delete(name)
        },
      }
    },
    async close() {},
  }
}
