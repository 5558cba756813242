/** One run: so many active tasks, each due again after the interval, watched in windows of equal length. */
export interface ScaleRun {
  name: string
  tasks: number
  /** From one poll of a task to its next. */
  intervalMs: number
  windowMs: number
  windows: number
}

/** What the process with the engine is told. */
export interface SubjectSettings {
  run: ScaleRun
  databaseUrl: string
  providerUrl: string
}

/** What happened in one window, as the process with the engine saw it. Percentiles are exact to a millisecond. */
export interface WindowReport {
  polls: number
  /** Polls that taught nothing. There should be none. */
  inconclusive: number
  /** From the due time until the claim was in hand. */
  dueLagP50Ms: number
  dueLagP99Ms: number
  dueLagMaxMs: number
  /** From the due time until the provider's answer was in hand. */
  answeredP99Ms: number
  claims: number
  claimP50Ms: number
  claimP99Ms: number
  /** The middle of the window's samples, so that a collection of garbage more or less does not matter. */
  rssMb: number
  cpuSeconds: number
}

/** `total` is over all windows: percentiles of percentiles would be none. */
export type SubjectMessage =
  | { kind: 'ready' }
  | { kind: 'window'; window: WindowReport }
  | { kind: 'total'; total: WindowReport }
