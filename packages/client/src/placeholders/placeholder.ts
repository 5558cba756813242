import { isOverdue, placeholderIdOf, type Task, type TaskFailure, type TaskStatus } from '@holdfast/shared'
import type { Waiting } from '../outbox/intent.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'

/**
 * Exactly what is going on, one step finer than `state`:
 *
 * - `unsent`: in this browser's outbox, the server does not have it yet; `not-sent`: it was refused or given up.
 * - `overdue`: past its deadline, the server asks one last time (C7).
 * - `not-saved`: finished, but its message could not be written; `client.retrySave(taskId)` repairs it.
 */
export type PlaceholderDetail =
  | 'unsent'
  | 'not-sent'
  | 'waiting'
  | 'working'
  | 'overdue'
  | 'done'
  | 'not-saved'
  | 'failed'
  | 'cancelled'

/** What an app paints where the message will be. */
export interface Placeholder {
  /** The same on every device, and for a task and its retries. */
  id: string
  /** For an unsent one its idempotency key, which `client.resend` and `client.discard` take. */
  taskId: string
  /** Where it was begun: in this tab, in another tab of this browser, or on another device. */
  origin: TrackedTask['origin']
  stale: boolean
  /** When the task started. */
  startedAt: string
  /** When the first of its tasks was submitted: its place among the messages, which no start and no retry moves. */
  submittedAt: string
  state: 'waiting' | 'working' | 'failed' | 'cancelled' | 'done'
  detail: PlaceholderDetail
  progress: number | null
  /** The task's failure, or `DEADLINE_EXCEEDED` for one past its deadline. */
  failure: TaskFailure | null
  /** Of an unsent one: why it is not sent at this moment, and when it is tried again. */
  waiting: Waiting | null
  task: TrackedTask
}

const STATES: Record<TaskStatus, Placeholder['state']> = {
  pending: 'waiting',
  running: 'working',
  completed: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
}

const OVERDUE: TaskFailure = {
  code: 'DEADLINE_EXCEEDED',
  message: 'This took longer than it may. The server is asking the provider one last time.',
  // The server has not ended it yet, and only what has ended can be retried.
  retryable: false,
}

/** `now` is milliseconds by the server's clock: `Date.now() + state.clockOffset`. */
export function toPlaceholder(task: TrackedTask, now: number): Placeholder {
  const overdue = isOverdue(task, now)
  return {
    id: placeholderIdOf(task),
    taskId: task.id,
    origin: task.origin,
    stale: task.stale,
    startedAt: task.startedAt ?? task.createdAt,
    submittedAt: task.createdAt,
    state: overdue ? 'failed' : STATES[task.status],
    detail: detailOf(task, overdue),
    progress: task.progress,
    failure: overdue ? OVERDUE : task.failure,
    waiting: task.waiting ?? null,
    task,
  }
}

function detailOf(task: TrackedTask, overdue: boolean): PlaceholderDetail {
  if (task.unsent) return task.failure ? 'not-sent' : 'unsent'
  if (overdue) return 'overdue'
  return isUnsaved(task) ? 'not-saved' : STATES[task.status]
}

/** Whether the server could not write the message of a finished task. */
export function isUnsaved(task: Task & { saveState?: string }): boolean {
  return task.saveState === 'failed'
}

/** One placeholder per id, for the newest of the tasks that share it: a retry takes over from what it repeats (F9). */
export function toPlaceholders(tasks: readonly TrackedTask[], now: number): Placeholder[] {
  const known = new Map<string, Task>(tasks.map((task) => [task.id, task]))
  const shown = new Map<string, Placeholder>()
  // What is not sent yet comes last, whatever the clocks say.
  const isUnsent = (task: TrackedTask) => Number(task.unsent ?? false)
  const sorted = [...tasks].sort((a, b) => isUnsent(a) - isUnsent(b) || oldestFirst(a, b))
  const places = new Set<string>()
  for (const task of sorted) {
    const id = sharedId(task, known)
    // Its task is here, and it is about to leave the outbox: they change places in one step.
    const place = `${task.placeholderId} ${task.retryOf}`
    if (task.unsent && places.has(place)) continue
    places.add(place)
    // Deleted first, so that the newer task also takes its own place in the order.
    const { submittedAt } = shown.get(id) ?? { submittedAt: task.createdAt }
    shown.delete(id)
    shown.set(id, { ...toPlaceholder(task, now), id, submittedAt })
  }
  return [...shown.values()]
}

/** By creation, and by id (which rises with time) within a millisecond. */
export function oldestFirst(a: Task, b: Task): number {
  return a.createdAt < b.createdAt || (a.createdAt === b.createdAt && a.id < b.id) ? -1 : 1
}

function sharedId(task: Task, known: ReadonlyMap<string, Task>): string {
  let first = task
  while (first.placeholderId === null && first.retryOf !== null) {
    const earlier = known.get(first.retryOf)
    if (!earlier) return placeholderIdOf({ id: first.retryOf, placeholderId: null })
    first = earlier
  }
  return placeholderIdOf(first)
}
