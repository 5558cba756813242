import type { WorkName } from './work-kind.ts'

/** Where work waits: its kind, and whose it is. */
export interface WorkQueue {
  kind: WorkName
  /** A provider, or one of those below. */
  of: string
}

/** Says that a queue has work, now or after so long. */
export interface WorkHint extends WorkQueue {
  /** @default 0 */
  inMs?: number
}

/** Whose work it is that every replica does for all providers together: copying to the store, telling the endpoints. */
export const STORE = 'store'
export const ENDPOINTS = 'endpoints'
