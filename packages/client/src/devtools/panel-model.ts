import type { HoldfastClient, Insight } from '../create-client.ts'
import type { Happening } from './models/happenings.ts'
import type { LoggedMessage } from './models/message-rows.ts'
import type { TabFacts } from './models/tab-facts.ts'
import type { TabRow } from './models/tab-rows.ts'
import type { RecordRow } from './read-records.ts'
import type { Remembered } from './remembered.ts'
import type { SimulationState } from './simulation/create-simulation.ts'

/** What the person in front of it has chosen. */
export interface UiState extends Remembered {
  taskFilter: string
  messageFilter: string
  /** Which task, message or record is looked at more closely. */
  task: string | null
  message: number | null
  record: string | null
  /** The messages as they were when they were told to stand still. */
  paused: readonly LoggedMessage[] | null
}

export interface HistoryEntry extends Happening {
  number: number
  at: number
}

export interface Records {
  /** Null: not read yet. */
  rows: RecordRow[] | null
  problem: string | null
}

/** Everything a view may show. */
export interface PanelModel {
  insight: Insight
  me: TabFacts
  tabs: TabRow[]
  /** By this machine's clock. */
  now: number
  messages: readonly LoggedMessage[]
  history: readonly HistoryEntry[]
  records: Records
  /** Null: the client was made without one. */
  simulation: SimulationState | null
  ui: UiState
  /** What became of the last thing asked for. */
  notice: string | null
}

/** Everything a view may do. */
export interface PanelActions {
  set(ui: Partial<UiState>): void
  close(): void
  /** Does it and tells how it went: `done` when it worked, else the error's own words. */
  attempt(done: string, work: (client: HoldfastClient) => Promise<unknown>): void
  copy(value: unknown): void
  clearMessages(): void
  setHidden(hidden: boolean): void
  setOffline(offline: boolean): void
  crash(): void
  revive(): void
}
