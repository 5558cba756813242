/**
 * One step of the ladder: a way to make sure that one tab of this browser leads. The first that works here is used;
 * nothing else knows which.
 */
export interface Level {
  readonly name: 'web-lock' | 'indexeddb' | 'every-tab'
  /** False: any number of tabs lead at the same time, so none may hold a stream open (six connections per origin). */
  readonly exclusive: boolean
  /** Whether the browser frees it by itself when its tab is gone. */
  readonly freesItself: boolean
  /** Takes it if nobody has it, else null. All three reject when this level does not work here. */
  tryTake(): Promise<Hold | null>
  /** Takes it as soon as it is free; null when told to stop, or when it was taken away before we knew of it. */
  waitFor(signal: AbortSignal): Promise<Hold | null>
  /** Takes it from whoever has it; null when somebody else has done so since `epoch`. */
  steal(epoch: number): Promise<Hold | null>
}

export interface Hold {
  /** Higher than any before it. */
  readonly epoch: number
  /** Resolves when it has been taken away. Never, when it was let go. */
  readonly lost: Promise<unknown>
  /** Says that we are still here; false when it is no longer ours. */
  renew(): Promise<boolean>
  release(): void
}
