import type { Logger } from 'pino'
import type { Bus } from '../bus/bus.ts'
import type { Sql } from '../database/connect.ts'
import type { Provider } from '../providers/provider.ts'
import type { TaskTypes } from '../tasks/task-types.ts'
import type { Batcher } from './create-batcher.ts'
import type { Rescheduled } from './reschedule-work.ts'

/** What the runners of each kind of work share. */
export interface EngineContext {
  sql: Sql
  bus: Bus
  types: TaskTypes
  providers: ReadonlyMap<string, Provider>
  log: Logger
  random: () => number
  reschedule: Batcher<Rescheduled>
  /** Aborted when the engine stops: polls are given up and handed back, creates are seen through. */
  stopping: AbortSignal
  /** Aborted when a stop has waited long enough: what could not be written is let go. */
  givenUp: AbortSignal
}
