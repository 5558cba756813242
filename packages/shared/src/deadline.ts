import { isTerminal } from './status.ts'
import type { Task } from './task.ts'

/**
 * Whether an unfinished task is past its deadline (C7). `now` is milliseconds by the server's clock. The server
 * has the last word: it fails the task only after asking the provider once more.
 */
export function isOverdue(task: Pick<Task, 'status' | 'deadlineAt'>, now: number): boolean {
  return !isTerminal(task.status) && task.deadlineAt !== null && Date.parse(task.deadlineAt) <= now
}
