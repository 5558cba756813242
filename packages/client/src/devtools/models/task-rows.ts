import { isTerminal } from '@holdfast/shared'
import type { TaskMap, TrackedTask } from '../../store/merge-tasks.ts'
import { durationText } from './time-text.ts'

export interface TaskRow {
  id: string
  type: string
  status: TrackedTask['status']
  /** 0 to 100; null when the provider tells none. */
  progress: number | null
  isRunning: boolean
  version: number
  origin: string
  stale: boolean
  age: string
  /** What makes sense for it now. */
  actions: TaskAction[]
  task: TrackedTask
}

export type TaskAction = 'cancel' | 'retry' | 'save'

function actionsFor(task: TrackedTask): TaskAction[] {
  if (!isTerminal(task.status)) return ['cancel']
  if (task.status !== 'completed') return ['retry']
  return task.saveState === 'failed' ? ['save'] : []
}

/** Newest first. The filter looks at id, type, status, origin and parameters. `now` is the server's. */
export function taskRows(tasks: TaskMap, filter: string, now: number): TaskRow[] {
  const wanted = filter.trim().toLowerCase()
  return Object.values(tasks)
    .filter(({ id, type, status, origin, stale, params }) =>
      `${id} ${type} ${status} ${origin} ${stale ? 'stale' : ''} ${JSON.stringify(params)}`
        .toLowerCase()
        .includes(wanted),
    )
    .sort((a, b) => b.createdAt.localeCompare(a.createdAt) || a.id.localeCompare(b.id))
    .map((task) => ({
      id: task.id,
      type: task.type,
      status: task.status,
      progress: task.progress,
      isRunning: !isTerminal(task.status),
      version: task.version,
      origin: task.origin.replace('-', ' '),
      stale: task.stale,
      age: durationText(now - Date.parse(task.createdAt)),
      actions: actionsFor(task),
      task,
    }))
}
