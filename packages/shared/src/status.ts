/**
 * A task's life (F9):
 *
 *     pending ──► running ──► completed
 *        │  ▲        │ ├────► failed
 *        │  └────────┘ └────► cancelled
 *        │   requeue
 *        └──► failed | cancelled
 *
 * pending: not yet accepted by whoever does the work. running: accepted. The other three are final.
 * "Retrying", "timed out" and "submit unknown" are attempt data and failure codes, never statuses.
 */
export const TASK_STATUSES = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const

export type TaskStatus = (typeof TASK_STATUSES)[number]
export type ActiveStatus = Extract<TaskStatus, 'pending' | 'running'>
export type TerminalStatus = Exclude<TaskStatus, ActiveStatus>

/**
 * - `allowed`: may happen.
 * - `requeue`: may happen, and only if the attempt count rises with it.
 * - `stay`: not a transition; other columns may change.
 * - `refused`: never. PostgreSQL refuses it too (`holdfast.guard_task_update`).
 */
export type TransitionRule = 'allowed' | 'requeue' | 'stay' | 'refused'

export const TRANSITIONS: Record<TaskStatus, Record<TaskStatus, TransitionRule>> = {
  pending: {
    pending: 'stay',
    running: 'allowed',
    completed: 'refused',
    failed: 'allowed',
    cancelled: 'allowed',
  },
  running: {
    pending: 'requeue',
    running: 'stay',
    completed: 'allowed',
    failed: 'allowed',
    cancelled: 'allowed',
  },
  completed: {
    pending: 'refused',
    running: 'refused',
    completed: 'stay',
    failed: 'refused',
    cancelled: 'refused',
  },
  failed: {
    pending: 'refused',
    running: 'refused',
    completed: 'refused',
    failed: 'stay',
    cancelled: 'refused',
  },
  cancelled: {
    pending: 'refused',
    running: 'refused',
    completed: 'refused',
    failed: 'refused',
    cancelled: 'stay',
  },
}

export function isTerminal(status: TaskStatus): status is TerminalStatus {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}
