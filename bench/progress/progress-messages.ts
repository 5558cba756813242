export interface ProgressSettings {
  databaseUrl: string
  users: number
  tasksPerUser: number
  pollMs: number
}

/** What was counted since the start. */
export type EngineCount = { kind: 'ready'; port: number } | { kind: 'count'; reports: number; polls: number }

export type WatchOrder = { kind: 'open'; port: number; users: number } | { kind: 'count' }

export type WatchCount =
  | { kind: 'ready' }
  | { kind: 'open' }
  | {
      kind: 'count'
      /** Higher progress of a task that a stream showed. */
      steps: number
      /** Lower progress than what the same stream had shown. */
      backwards: number
      /** Steps that were passed over, because the next came first. */
      skipped: number
      /** Events that showed nothing new. */
      repeated: number
    }
