import type { WorkHint } from '../engine/work-queue.ts'

/**
 * - `changed`: a row of this user's was written; look it up.
 * - `progressed`: only the hot progress of running tasks rose; the database knows nothing new.
 */
export type Hint = 'changed' | 'progressed'

/** Who is told: listeners at this replica, at the others, or both. */
export type Reach = 'all' | 'here' | 'elsewhere'

/** A stream that one of a browser's leading tabs has opened for a user. */
export interface OpenedStream {
  userId: string
  browserId: string
  /** Rises by one with every change of the leading tab. */
  epoch: number
}

/**
 * Tells streams that something of a user's has changed, and engines that there is work. It carries hints, never truth:
 * a lost one is made up for by the sweep of the streams and by the engine's own looking.
 */
export interface Bus {
  /** @param hint 'changed' unless said; @param reach 'all' unless said */
  publish(userId: string, hint?: Hint, reach?: Reach): void
  /** Returns the undo. */
  subscribe(userId: string, listener: (hint: Hint) => void): () => void
  /** Whether anyone watches this user's tasks right now, at any replica, so that they are worth polling faster. */
  isWatched(userId: string): boolean
  /**
   * There is due work in a queue, say because a task was submitted: the replica that does it should look now.
   *
   * @param reach 'all' unless said
   */
  publishWork(hint: WorkHint, reach?: Reach): void
  /** `hint` is null where anything may be due. Returns the undo. */
  onWork(listener: (hint: WorkHint | null) => void): () => void
  /** A stream is open here, so that other replicas end an older one of the same browser. */
  publishOpened(stream: OpenedStream): void
  /** Hears of streams that opened at other replicas. Returns the undo. */
  onOpened(listener: (stream: OpenedStream) => void): () => void
  /** Idempotent. */
  close(): Promise<void>
}
