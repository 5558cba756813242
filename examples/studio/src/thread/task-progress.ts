import type { Task } from '@holdfast/shared'

/**
 * How far a task is, and how we know.
 *
 * - `reported`: the provider says so.
 * - `estimated`: from how long such tasks usually take.
 * - `unknown`: neither; the bar only shows that something is going on.
 */
export type TaskProgress =
  | { kind: 'reported'; percent: number }
  | { kind: 'estimated'; percent: number }
  | { kind: 'unknown' }

/** An estimate never claims to be done: only the task itself can say that. */
const MOST_AN_ESTIMATE_CLAIMS = 95

export function taskProgress(
  task: Pick<Task, 'progress' | 'startedAt' | 'estimatedAt'>,
  now: number,
): TaskProgress {
  if (task.progress !== null) return { kind: 'reported', percent: clamp(Math.round(task.progress), 100) }
  if (!task.startedAt || !task.estimatedAt) return { kind: 'unknown' }
  const startedAt = Date.parse(task.startedAt)
  const whole = Date.parse(task.estimatedAt) - startedAt
  if (!(whole > 0)) return { kind: 'unknown' }
  const percent = Math.floor(((now - startedAt) / whole) * 100)
  return { kind: 'estimated', percent: clamp(percent, MOST_AN_ESTIMATE_CLAIMS) }
}

const clamp = (value: number, most: number) => Math.min(most, Math.max(0, value))
