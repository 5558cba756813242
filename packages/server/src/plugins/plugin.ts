import type { Lane, TaskFailure, TerminalStatus } from '@holdfast/shared'
import type { Tx } from '../database/connect.ts'
import type { Usage } from '../providers/provider.ts'
import type { Settlement } from '../tasks/settle-task.ts'

/**
 * Joins the transactions in which tasks begin and end.
 *
 * `tx` is postgres.js inside that transaction: what is written with it is committed together with the task, or not at
 * all. It is good until the hook returns. Only SQL belongs here: rows stay locked for as long as a hook takes, and one
 * that takes longer than a few seconds is given up.
 */
export interface Plugin {
  /** Unique. Kept with a task whose end it could not write, so that `save` knows whom to ask again. */
  name: string
  /**
   * Whether a task may only end together with this. When an essential plugin throws, nothing is written and the end is
   * tried again later, for as long as it takes; other plugins are left out after a few tries, and `save` makes up for it.
   * @default false
   */
  essential?: boolean
  /**
   * Whether it has anything to do with this submit. Where no plugin has, the task is made in one statement together with
   * others. @default true
   */
  joinsSubmit?(task: Submission): boolean
  /** Whether it has anything to do with the end of a task like this; likewise. @default true */
  joinsSettle?(task: Pick<SettledTask, 'creditsHeld' | 'conversationId'>): boolean
  /** Before anything is written. Refuses by throwing a `HoldfastError`. */
  beforeSubmit?(tx: Tx, task: Submission): Promise<void>
  /** When the task's row is there. Refuses by throwing a `HoldfastError`: then nothing was created. */
  onSubmit?(tx: Tx, task: SubmittedTask): Promise<void>
  /**
   * When the task has ended, whichever way. Once per task, unless it threw.
   * `settlement` is what ended it; it is missing when `save` asks again later.
   */
  onSettled?(tx: Tx, task: SettledTask, settlement?: Settlement): Promise<void>
  /**
   * The same for many tasks at once, which their providers have ended: in few statements what `onSettled` does for each.
   * If it throws, nothing is written, and each of the tasks ends by itself.
   */
  onSettledMany?(tx: Tx, ends: readonly SettledEnd[]): Promise<void>
  /**
   * Before many tasks end at once: locks what `onSettledMany` will write, and waits for nobody. Returns the ids of those
   * tasks of which somebody else holds something: each of them ends by itself, and delays none of the others.
   */
  lockMany?(tx: Tx, taskIds: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * When it is known what became of a create that was under way while its task was cancelled. If it throws, nothing is
   * written and it is asked again later.
   */
  onCreateKnown?(tx: Tx, task: SettledTask, fate: CreateFate): Promise<void>
  /**
   * When a file of a completed task has died at its source before it could be copied; once per file. If it throws,
   * nothing is written and it is asked again later.
   */
  onFileLost?(tx: Tx, task: SettledTask): Promise<void>
}

/** A task that has just ended, and what ended it. */
export interface SettledEnd {
  task: SettledTask
  settlement: Settlement
}

/** What became of a create: the provider took it, certainly did not, or nobody will ever know. */
export type CreateFate = 'accepted' | 'not-accepted' | 'lost'

/** What is asked for. */
export interface Submission {
  userId: string
  type: string
  provider: string
  /** Checked by the task type, without secrets. */
  params: Record<string, unknown>
  metadata: Record<string, unknown>
  conversationId: string | null
  /** Made with the task, if its user has none of that id. Its id is `conversationId`. Left out: there is one already. */
  conversation?: { id: string; title: string }
  placeholderId: string | null
  /** The failed or cancelled task that this one repeats. */
  retryOf: string | null
  lane: Lane
  priority: number
}

export interface SubmittedTask extends Submission {
  id: string
}

/** A task that has just ended. */
export interface SettledTask extends SubmittedTask {
  status: TerminalStatus
  parentId: string | null
  /** Set exactly when `failed`. */
  failure: TaskFailure | null
  /** The files of a completed task, in order; empty otherwise. */
  outputs: SettledOutput[]
  /** What the provider says it took; null if it says nothing. */
  usage: Usage | null
  /** What the provider has been made to do: nothing, perhaps something (a create is under way), or the task. */
  sent: 'no' | 'perhaps' | 'accepted'
  /** What was put aside for it when it was submitted. */
  creditsHeld: number
  /** What it cost in the end. 0 while the reply to a create still decides. */
  creditsSpent: number
  createdAt: Date
  /** When the provider accepted it; null if none did. */
  startedAt: Date | null
  finishedAt: Date
  /** Of the request that created it, as on every line of the log about it. */
  traceId: string | null
}

export interface SettledOutput {
  /** Of `holdfast.artifacts`. */
  id: string
  /** The provider's own, which dies at `urlExpiresAt`. For users there is `task.result.outputs`. */
  url: string
  contentType: string | null
  urlExpiresAt: Date | null
}
