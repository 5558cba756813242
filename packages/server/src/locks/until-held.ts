import { setTimeout as delay } from 'node:timers/promises'
import type { Held } from './lock.ts'

export interface UntilHeldOptions {
  /** Null: not now. Must not reject. */
  attempt(): Promise<Held | null>
  retryMs: number
  signal: AbortSignal
}

/** Tries until it works, with pauses of half to one and a half `retryMs`, so that those who wait do not march in step. */
export async function untilHeld({ attempt, retryMs, signal }: UntilHeldOptions): Promise<Held> {
  for (;;) {
    signal.throwIfAborted()
    const held = await attempt()
    if (held && !signal.aborted && !held.lost.aborted) return held
    // Granted while the caller was giving up, or so late that it has run out already.
    await held?.release()
    signal.throwIfAborted()
    // Its rejection says only that it was aborted; the signal's own reason is thrown above.
    await delay(retryMs * (0.5 + Math.random()), undefined, { signal }).catch(() => {})
  }
}
