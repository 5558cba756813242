/** One holder at a time (P3), for efficiency: correctness rests on the epoch of each work row, never on this. */
export interface Lock {
  /** Waits until the lock is held. Rejects when `signal` aborts or the lock is closed, for no other reason. */
  acquire(name: string, signal: AbortSignal): Promise<Held>
  /** Whether what keeps the lock could not be reached when it was last tried: then nobody new gets it. @default false */
  isAway?(): boolean
  /** Gives back what is held, turns away who waits, ends the connection. Idempotent. */
  close(): Promise<void>
}

export interface Held {
  /**
   * Aborted when the lock is lost: connection gone, TTL passed without renewal, taken by another, lock closed.
   * Reading it looks at the clock, so that a process that was paused learns of its loss before it does anything:
   * `if (held.lost.aborted) return` before each step.
   */
  readonly lost: AbortSignal
  /** Idempotent, never rejects, and only ever releases our own. */
  release(): Promise<void>
}
