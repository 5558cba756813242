import type { TaskMap, TrackedTask } from '../../store/merge-tasks.ts'
import { durationText } from './time-text.ts'

export interface OutboxRow {
  /** The idempotency key. */
  key: string
  type: string
  /** `refused`: it stays until it is sent again or discarded. */
  state: 'waiting' | 'refused'
  text: string
  age: string
  task: TrackedTask
}

/** In the order in which they were submitted. `now` is the server's. */
export function outboxRows(unsent: TaskMap, now: number): OutboxRow[] {
  return Object.values(unsent)
    .sort((a, b) => a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id))
    .map((task) => ({
      key: task.id,
      type: task.type,
      state: task.failure ? 'refused' : 'waiting',
      text: task.failure
        ? `${task.failure.code}: ${task.failure.message}`
        : task.waiting
          ? `${task.waiting.reason}: ${task.waiting.message} Tried again at ${task.waiting.retryAt.slice(11, 19)}.`
          : 'On disk, and being sent.',
      age: durationText(now - Date.parse(task.createdAt)),
      task,
    }))
}
