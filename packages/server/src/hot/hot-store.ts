/** How far a running task is, as its provider last said. */
export interface ProgressReport {
  userId: string
  taskId: string
  /** 0 to 99: 100 is kept for the end, which only the database tells. */
  progress: number
}

/**
 * Keeps the progress of running tasks, so that the database is spared (Q3). A cache and never the truth: what it lost
 * is a few seconds of progress, and whoever reads takes the higher of what it says and what the row says. So nothing
 * here ever rejects: a store that is away knows nothing.
 */
export interface HotStore {
  /** Whether other replicas read what is written here. */
  readonly isShared: boolean
  /** Of several reports about a task the highest stays, in whatever order they come. */
  write(reports: readonly ProgressReport[]): Promise<void>
  /** Task id → progress. */
  read(userId: string): Promise<ReadonlyMap<string, number>>
  /** Of tasks that have ended. */
  forget(tasks: readonly Pick<ProgressReport, 'userId' | 'taskId'>[]): Promise<void>
  /** Idempotent. */
  close(): Promise<void>
}

/** For those who know of no hot progress. */
export const NOTHING_HOT: ReadonlyMap<string, number> = new Map()

/** Longer than any task is silent between two reports, and short enough that what nobody forgot is soon gone. */
export const DEFAULT_HOT_TTL_MS = 60 * 60_000
