import type { Logger } from 'pino'
import type { Bus } from '../bus/bus.ts'
import type { WriteContext } from '../bus/create-notify.ts'
import type { Batcher } from '../concurrency/batcher.ts'
import type { CircuitBreaker } from '../engine/circuit-breaker.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Aftermath } from '../tasks/aftermath.ts'
import type { Settle } from '../tasks/create-settle.ts'
import type { TaskTypes } from '../tasks/task-types.ts'
import type { ProviderCalls } from './call-provider.ts'
import type { ProgressWriter } from './poll/progress-writer.ts'
import type { Rescheduled } from './poll/reschedule-polls.ts'
import type { ObservedFinish } from './poll/schedule/duration-histogram.ts'
import type { Accept } from './send/create-accept.ts'

/** What the runners of each kind of step share, for one provider. */
export interface ProviderContext extends WriteContext {
  settle: Settle
  /** The provider, which never throws and is counted. */
  calls: ProviderCalls
  accept: Accept
  aftermath: Aftermath
  /** Who is watched is polled more often. */
  bus: Pick<Bus, 'isWatched'>
  types: TaskTypes
  log: Logger
  random: () => number
  metrics: Metrics
  breaker: CircuitBreaker
  reschedule: Batcher<Rescheduled>
  /** A claim is good for this long. */
  leaseMs: number
  /** Takes note of how long a finished task took. */
  learn(type: string, finish: ObservedFinish): void
  /** Shows progress, and writes it down now and then. */
  progress: ProgressWriter
  /** How long a task that is unfinished at this age will probably take in all; null until enough is known. */
  expectedMs(type: string, ageMs: number): number | null
  /** How long until the first poll of a task that was just accepted. */
  firstPollMs(type: string, userId: string): number
  /** Whether there is a store that result files are copied to. */
  copiesFiles: boolean
  /** Where a provider may call back about one task; undefined if we cannot be reached from outside. */
  callbackUrl(task: { provider: string; taskId: string; secret: string }): string | undefined
  /** Aborted when the engine stops or the lock is lost: polls are given up and handed back, creates are seen through. */
  stopping: AbortSignal
  /** Aborted when a stop has waited long enough: what could not be written is let go. */
  givenUp: AbortSignal
}
