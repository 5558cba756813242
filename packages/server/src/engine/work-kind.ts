import type { Slots } from './slots.ts'

export type WorkName = 'send' | 'poll' | 'cancel' | 'copy' | 'deliver'

/** A step that this process has claimed. Another process that claims it later raises the epoch. */
export interface Claimed {
  workId: string
  epoch: number
  taskId: string
  traceId: string | null
  lane: string
  /** How late it was claimed. */
  lagMs: number
}

/** How much a claim may take. */
export interface Room {
  /** At most so many. */
  count: number
  /** What is claimed and unfinished here, of all kinds that share the slots. */
  underWay: number
}

export interface Claims<T> {
  works: readonly T[]
  /** More is due than the claim was allowed to take, and after so long it may take more. Null: all that is due was taken. */
  retryMs: number | null
}

/** What a step may do with its claim while it runs. */
export interface RunningClaim {
  /** Aborted when the engine stops, or when a lease that is renewed was lost. */
  readonly signal: AbortSignal
  /** Just before it was claimed, by this process's own clock. */
  readonly claimedAt: number
  /** Lets the next one begin before this one is over; only for kinds that say `freesEarly`. */
  free(): void
}

/** What the engine needs to know of a kind of work. The rest is the kind's own. */
export interface WorkKind<T extends Claimed> {
  name: WorkName
  /** Whose it is, for the log: a provider, or the store. */
  of: string
  slots: Slots
  /** How long a claim is good for. */
  leaseMs: number
  /** One statement. It raises the epoch and sets when each comes due again, in case this process dies. */
  claim(room: Room): Promise<Claims<T>>
  /** Ends by writing what became of it. If it throws, the lease decides when it is tried again. */
  run(work: T, claim: RunningClaim): Promise<void>
  /** Whether steps free their place before they are over. @default false */
  freesEarly?: boolean
  /** Lets go of what was claimed and not begun when the engine stops. Without it such work is run all the same. */
  handBack?(works: readonly T[]): Promise<void> | void
  /** Kinds whose steps may take longer than a claim is good for: prolongs claims, and returns which are still held. */
  renew?: { everyMs: number; renew(works: readonly T[]): Promise<ReadonlySet<string>> }
  /** Before each look for work: the place for gauges. */
  observe?(): void
}
