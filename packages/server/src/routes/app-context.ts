import type { Lane, Priority } from '@holdfast/shared'
import type { Logger } from 'pino'
import type { Authenticate, Identity } from '../auth/authenticate.ts'
import type { Bus } from '../bus/bus.ts'
import type { WriteContext } from '../bus/create-notify.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { FilesystemStore } from '../objects/filesystem-store.ts'
import type { CreditsOptions } from '../plugins/credits/credits-options.ts'
import type { Provider } from '../providers/provider.ts'
import type { ChoosePriority } from '../tasks/choose-priority.ts'
import type { Settle } from '../tasks/create-settle.ts'
import type { Submit } from '../tasks/create-task.ts'
import type { KeepResults } from '../tasks/keep-results.ts'
import type { Presenter } from '../tasks/present-tasks.ts'
import type { Room } from '../tasks/require-room.ts'
import type { Save } from '../tasks/save-task.ts'
import type { TaskTypes } from '../tasks/task-types.ts'
import type { RequestLimits } from './request-limits.ts'
import type { UnreadAnswers } from './unread-answers.ts'

/** What the routes need of the rest. */
export interface AppContext extends WriteContext {
  /** Rejects unless the database can be reached and its schema fits. */
  ready(): Promise<void>
  /** Whether nobody can begin to work because what keeps the lock is away. */
  isLockAway(): boolean
  submit: Submit
  settle: Settle
  save: Save
  present: Presenter
  /** Where result files are kept, if it is a folder: then they are served from here. */
  files: Pick<FilesystemStore, 'verify' | 'open'> | null
  /** Whether there are any. */
  conversations: boolean
  credits: false | CreditsOptions
  bus: Bus
  authenticate: Authenticate
  isServiceKey(token: string): boolean
  providers: ReadonlyMap<string, Provider>
  types: TaskTypes
  log: Logger
  metrics: Metrics
  metricsToken: string | null
  route: RouteTask
  /** How many tasks a user with that plan may have. */
  room(plan: string | null): Room
  requests: RequestLimits
  answers: UnreadAnswers
  keepResults: KeepResults
  choosePriority: ChoosePriority
  corsOrigins: readonly string[]
  streams: StreamOptions
  /** Aborted when the server stops. */
  stopping: AbortSignal
}

/** Chooses the lane of a new task (Q1), say by its user's plan and its expected length. */
export type RouteTask = (task: {
  userId: string
  type: string
  params: Record<string, unknown>
  priority: Priority
  /** What the token says in `app_metadata.plan`; null if it says nothing. */
  plan: string | null
}) => Lane | Promise<Lane>

export interface StreamOptions {
  /** @default 15000 */
  heartbeatMs: number
  /** How often it is looked after a user's streams, in case a hint was lost; give or take a quarter. @default 5000 */
  sweepMs: number
  /** How many streams one user may have open at this process. @default 20 */
  perUser: number
  /** A client that takes nothing for so long is cut off; after twice as long, also from other answers. @default 60000 */
  stallMs: number
}

export const defaultStreamOptions: StreamOptions = {
  heartbeatMs: 15_000,
  sweepMs: 5_000,
  perUser: 20,
  stallMs: 60_000,
}

/** Hono's variables of one request. */
export interface AppEnv {
  /** What is underneath, where that is `node:http` or `node:http2`. */
  Bindings:
    | {
        incoming?: { readonly httpVersionMajor?: number }
        /** Over HTTP/2 only its stream tells whether it is gone. */
        outgoing?: {
          destroy(): void
          once?(event: 'close', listener: () => void): unknown
          readonly destroyed?: boolean
          /** What waits to be taken by the caller. */
          readonly writableLength?: number
          readonly req?: { readonly socket?: { readonly destroyed: boolean } | null }
          readonly stream?: { readonly destroyed: boolean; readonly writableLength?: number }
        }
      }
    | undefined
  Variables: {
    identity: Identity
    traceId: string
    log: Logger
    isOpenToServices?: boolean
    isService?: boolean
    /** Counts so many more requests of the user, for one that is as much work. Throws `RATE_LIMITED`. */
    weigh?: (requests: number) => void
  }
}
