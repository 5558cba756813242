/**
 * Tells streams that something of a user's has changed. It carries hints, never truth: a lost one is made up for
 * by each stream's own sweep.
 */
export interface Bus {
  publish(userId: string): void
  /** Returns the undo. */
  subscribe(userId: string, listener: () => void): () => void
  /** Whether anyone watches this user's tasks right now, at any replica, so that they are worth polling faster. */
  isWatched(userId: string): boolean
  /** Idempotent. */
  close(): Promise<void>
}
