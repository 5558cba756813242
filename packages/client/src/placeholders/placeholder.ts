import { isOverdue, placeholderIdOf, type Task, type TaskFailure, type TaskStatus } from '@holdfast/shared'
import type { TrackedTask } from '../store/merge-tasks.ts'

/** What an app paints where the message will be. */
export interface Placeholder {
  /** The same on every device, and for a task and its retries. */
  id: string
  taskId: string
  origin: TrackedTask['origin']
  stale: boolean
  /** When the task started, so that it takes its place among the messages (F7). */
  startedAt: string
  state: 'waiting' | 'working' | 'failed' | 'cancelled' | 'done'
  progress: number | null
  /** The task's failure, or `DEADLINE_EXCEEDED` for one past its deadline (C7). */
  failure: TaskFailure | null
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
    state: overdue ? 'failed' : STATES[task.status],
    progress: task.progress,
    failure: overdue ? OVERDUE : task.failure,
    task,
  }
}

/** One placeholder per id, for the newest of the tasks that share it: a retry takes over from what it repeats (F9). */
export function toPlaceholders(tasks: readonly TrackedTask[], now: number): Placeholder[] {
  const known = new Map<string, Task>(tasks.map((task) => [task.id, task]))
  const shown = new Map<string, Placeholder>()
  for (const task of [...tasks].sort(oldestFirst)) {
    const id = sharedId(task, known)
    // Deleted first, so that the newer task also takes its own place in the order.
    shown.delete(id)
    shown.set(id, { ...toPlaceholder(task, now), id })
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
