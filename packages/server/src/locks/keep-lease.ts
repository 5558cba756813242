import { setTimeout as delay } from 'node:timers/promises'

export interface LeaseOptions {
  ttlMs: number
  /** When the request that was granted had been *sent*, by `now`: the others count from a later moment. */
  grantedAt: number
  /** True: still ours. False: not ours any more. Rejects: not known; asked again until the TTL runs out. */
  renew(): Promise<boolean>
  /** How soon to ask again after a failure. */
  retryMs: number
  /** Called once, when lost; not when stopped. */
  onLost?(reason: Error): void
  /** A clock that never jumps, in milliseconds. */
  now(): number
}

export interface Lease {
  /** Looks at the clock when read. */
  readonly lost: AbortSignal
  lose(reason: Error): void
  /** Renews no more and is never lost. */
  stop(): void
}

/** How much earlier than the others the holder counts its time as over: room for late timers and drifting clocks. */
const MARGIN = 0.1

/** How long an answer may take before what it says about a lock is of no use any more. */
export function usefulFor(ttlMs: number): number {
  return ttlMs * (1 - MARGIN)
}

/**
 * Renews every third of the TTL: two renewals may fail before anything is lost. By the same clock for all leases of a
 * process, so that their renewals fall together.
 */
export function keepLease(options: LeaseOptions): Lease {
  const { ttlMs, renew, retryMs, onLost, now } = options
  const lost = new AbortController()
  const stopped = new AbortController()
  let renewedAt = options.grantedAt
  let deadline: NodeJS.Timeout | undefined

  function lose(reason: Error): void {
    if (stopped.signal.aborted) return
    stop()
    lost.abort(reason)
    onLost?.(reason)
  }

  function stop(): void {
    clearTimeout(deadline)
    stopped.abort()
  }

  function look(): void {
    const left = renewedAt + usefulFor(ttlMs) - now()
    if (left <= 0) lose(new Error(`The lock was lost: it could not be renewed within its ${ttlMs} ms.`))
    if (stopped.signal.aborted) return
    clearTimeout(deadline)
    deadline = setTimeout(look, left)
  }

  async function keepRenewing(): Promise<void> {
    const toNextThird = () => ttlMs / 3 - (now() % (ttlMs / 3))
    let pauseMs = toNextThird()
    for (;;) {
      await delay(pauseMs, undefined, { signal: stopped.signal })
      // After a pause of the whole process there is nothing to renew.
      look()
      const sentAt = now()
      try {
        if (await renew()) {
          // Whoever slept while the answer was under way has lost it all the same.
          look()
          renewedAt = sentAt
          look()
        } else {
          lose(new Error('The lock was lost: it is no longer ours.'))
        }
        pauseMs = toNextThird()
      } catch {
        // Not known whether it is still ours. The deadline decides.
        pauseMs = Math.min(retryMs, ttlMs / 3)
      }
    }
  }

  look()
  // Ends by the abort of its own pause.
  keepRenewing().catch(() => {})

  return {
    get lost() {
      look()
      return lost.signal
    },
    lose,
    stop,
  }
}
