import type { FailureCode, TerminalStatus } from '@holdfast/shared'
import type { Oddity, Shared } from './orders.ts'
import type { Told } from './start-listener.ts'

interface Watched {
  name: string
  /** Kill points count from here on. */
  armAt: string
  /** Files whose points are of interest; the others are those of the first scenario. @default all */
  around?: readonly string[]
}

/** One way a task can go, and how it ends if nobody dies on the way. */
export interface WishScenario extends Watched {
  type: 'image' | 'hurried' | 'impatient'
  /** Words in brackets tell the simulator what to do. */
  prompt: string
  ends: { status: TerminalStatus; code: FailureCode | null }
  /** Most create requests that may reach the provider. */
  maxSends: number
  /** Cancelled by its user: once it runs, or while the reply to its create is held back. */
  cancel?: 'running' | 'sending'
  /** The client sends its request twice at once, with the same key. */
  twice?: boolean
  /** The application has sent it to the provider itself, and hands it over with a service key. */
  adopted?: boolean
  /** There is a store, and the result is copied to it. */
  mirror?: boolean
  /** Why it is not: its source is dead, or must not be copied from. Then it stays there, and the work waits for its death. */
  file?: 'expired' | 'given-up'
  /** The application has an endpoint that is told what happens. */
  told?: Told
  oddity?: Oddity
  /** The server is one of several, and shares a lock, a bus and perhaps progress with them. */
  shared?: Shared
  /** What is left to an operator when it has ended so. @default nothing */
  letter?: 'send' | 'cancel' | 'deliver'
  /** The server is told to stop in good order: while the reply to its create is held back, or while its file is copied. */
  stopped?: 'sending' | 'copying'
  /** A first process begins with it, is killed, and leaves this behind; points are those of the process after it. */
  legacy?: Legacy
}

/**
 * - `lost-create`: marked as being sent, and nobody knows whether it was.
 * - `unmarked`: about to be marked, which somebody else's lock on its row holds up for more than two seconds.
 * - `type-withdrawn`: about to be marked, and no process after the first one offers its type.
 * - `deaf-for-days`: ended, and the application has not taken that in all tries but one.
 * - `silent`: running, with nothing heard of it for more than two hours. Once it was asked about again, in vain, five
 *   more minutes pass.
 * - `half-copied`: ended, and half of its file is in the store.
 * - `unheard-for-a-day`: running, with its deadline more than a day ago and nothing heard since.
 */
export type Legacy =
  | 'lost-create'
  | 'unmarked'
  | 'type-withdrawn'
  | 'deaf-for-days'
  | 'half-copied'
  | 'silent'
  | 'unheard-for-a-day'

/** Many tasks that have ended, some of them long ago: what must go goes, and what must stay stays. */
export interface TidyScenario extends Watched {
  tidy: true
}

/** One request that changes something. It is repeated until it is answered. */
export interface AskScenario extends Watched {
  asks: Asks
  told?: Told
  oddity?: Oddity
}

/**
 * - `make-conversation`, `read-conversation`: as a page does.
 * - `retry`: a task that has failed, by its user.
 * - `adopt-again`: a job that was adopted before, with another key.
 * - `retry-letter`, `discard-letter`: a create that was given up, by an administrator.
 * - `redeliver`: what the application did not take for days, by an administrator.
 * - `save`: what a plugin could not write when a task ended.
 * - `grant`, `give-back`: credits, by an administrator.
 * - `first-balance`: a new user looks at their credits, and is given some by that.
 * - `call-back`, `call-back-account`: the vendor has finished, and says so at the task's own address, or at one for all.
 * - `call-back-early`: the vendor says so before the reply to the create has come, and that is lost.
 * - `call-back-late`: the vendor says so when the task was given up as unknown.
 */
export type Asks =
  | 'make-conversation'
  | 'read-conversation'
  | 'retry'
  | 'adopt-again'
  | 'retry-letter'
  | 'discard-letter'
  | 'redeliver'
  | 'save'
  | 'grant'
  | 'give-back'
  | 'first-balance'
  | 'call-back'
  | 'call-back-account'
  | 'call-back-early'
  | 'call-back-late'

export type Scenario = WishScenario | TidyScenario | AskScenario
