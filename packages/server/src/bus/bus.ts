/**
 * - `changed`: a row of this user's was written; look it up.
 * - `progressed`: only the hot progress of running tasks rose; the database knows nothing new.
 */
export type Hint = 'changed' | 'progressed'

/** Who is told: listeners at this replica, at the others, or both. */
export type Reach = 'all' | 'here' | 'elsewhere'

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
  /** There may be due work, say because a task was submitted: whoever works should look now. */
  publishWork(): void
  /** Returns the undo. */
  onWork(listener: () => void): () => void
  /** Idempotent. */
  close(): Promise<void>
}
