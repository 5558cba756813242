import type { Task } from './task.ts'

/**
 * The id under which a device shows a task that has no message yet. A device that never saw the submit derives
 * it from the task, so that every device agrees on it (F7).
 */
export function placeholderIdOf(task: Pick<Task, 'id' | 'placeholderId'>): string {
  return task.placeholderId ?? `placeholder-${task.id}`
}
