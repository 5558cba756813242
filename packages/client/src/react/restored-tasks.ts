import { isTerminal } from '@holdfast/shared'
import { oldestFirst, type Placeholder, toPlaceholders } from '../placeholders/placeholder.ts'
import type { TaskMap, TrackedTask } from '../store/merge-tasks.ts'
import type { ClientState } from '../store/task-store.ts'
import type { AnyTasks, TaskCatalog, TypedPlaceholder, TypedTask } from './task-catalog.ts'

/** The longest delay a browser's timer takes. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export interface RestoredTasks<C extends TaskCatalog = AnyTasks> {
  /** Oldest first. Without those that are not sent yet, which only have a placeholder. */
  tasks: TypedTask<C>[]
  /** One for each place where a message will be: a retry has taken over from what it repeats. */
  placeholders: TypedPlaceholder<C>[]
  restore: ClientState['restore']
  /** Until the server has confirmed. What is there meanwhile is from the local copy. */
  isRestoring: boolean
}

/**
 * Reads one conversation's part of the state; gives the same object as long as it would hold the same. `passed` is
 * the latest deadline known to have passed, by the server's clock.
 */
export function selectRestored(conversationId: string | null | undefined, passed: number) {
  const tasksOf = selectTasks(conversationId)
  const unsentOf = selectTasks(conversationId)
  let last: { tasks: TrackedTask[]; unsent: TrackedTask[]; offset: number; value: RestoredTasks } | undefined
  let placeholdersOf: () => Placeholder[]
  return ({ tasks: all, unsent: drafts, restore, clockOffset: offset }: ClientState): RestoredTasks => {
    const tasks = tasksOf(all)
    const unsent = unsentOf(drafts)
    const isSame = last?.tasks === tasks && last.unsent === unsent && last.offset === offset
    if (last && isSame && last.value.restore === restore) return last.value
    if (!isSame) placeholdersOf = lazily(tasks, unsent, Math.max(passed, Date.now() + offset))
    const shown = placeholdersOf
    const value: RestoredTasks = {
      tasks,
      get placeholders() {
        return shown()
      },
      restore,
      isRestoring: restore === 'loading' || restore === 'from-cache',
    }
    last = { tasks, unsent, offset, value }
    return value
  }
}

/** Whoever shows the tasks themselves does not wait for what he does not look at. */
function lazily(tasks: TrackedTask[], unsent: TrackedTask[], now: number): () => Placeholder[] {
  let made: Placeholder[] | undefined
  return () => {
    made ??= toPlaceholders([...tasks, ...unsent], now)
    return made
  }
}

function selectTasks(conversationId: string | null | undefined): (tasks: TaskMap) => TrackedTask[] {
  let seen: TaskMap | undefined
  let list: TrackedTask[] = []
  return (tasks) => {
    if (tasks === seen) return list
    seen = tasks
    const next = Object.values(tasks)
      .filter((task) => conversationId === undefined || task.conversationId === conversationId)
      .sort(oldestFirst)
    if (next.length !== list.length || next.some((task, index) => task !== list[index])) list = next
    return list
  }
}

/** The next deadline after `passed` and how long until then. Nothing else would tell that a task is overdue. */
export function nextDeadline(state: ClientState, passed: number): { at: number; in: number } | null {
  const now = Math.max(passed, Date.now() + state.clockOffset)
  const at = Math.min(
    ...Object.values(state.tasks)
      .filter((task) => !isTerminal(task.status) && task.deadlineAt !== null)
      .map((task) => Date.parse(task.deadlineAt ?? ''))
      .filter((deadline) => deadline > now),
  )
  return at - now <= LONGEST_TIMER_MS ? { at, in: at - now } : null
}
