import type { Kill } from './orders.ts'
import type { Scenario } from './scenario.ts'

export interface CrashCase<S extends Scenario = Scenario> {
  scenario: S
  /** Where the instrumented server dies. Without it nobody does. */
  kill?: Kill
  /** Note the points passed. */
  record?: boolean
  /** Instead of at a point, the server is killed from outside as soon as the provider has accepted the create. */
  killOnCreate?: boolean
}

export interface CaseReport {
  /** Whether a process died where it was told to. */
  died: boolean
  /** `completed`, `cancelled`, the failure code, or `swept`. */
  outcome: string
  creates: number
  sends: number
  messages: number
  violations: string[]
  /** The points passed until the end, if they were to be noted. */
  passed: string[]
  /** What the servers said, oldest first; for reading after a violation. */
  said: string
}

/** Longest that anything may take once somebody is there to do it. */
export const FINISH_WITHIN_MS = 30_000
/** What a server still does after the end, it does at once; on a busy machine its death takes longer. */
export const LAST_STEPS_MS = 500
export const DIES_WITHIN_MS = 3_000
