import { isTerminal } from '@holdfast/shared'
import { useEffect, useMemo, useState } from 'react'
import { type Placeholder, toPlaceholders } from '../placeholders/placeholder.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'
import type { ClientState } from '../store/task-store.ts'
import { selectTasks } from './select-tasks.ts'
import { useClientState } from './use-client-state.ts'

/** The longest delay a browser's timer takes. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export interface RestoredTasks {
  /** Oldest first. */
  tasks: TrackedTask[]
  /** One for each place where a message will be: a retry has taken over from what it repeats. */
  placeholders: Placeholder[]
  restore: ClientState['restore']
  /** Until the server has confirmed. What is there meanwhile is from the local copy. */
  isRestoring: boolean
}

/**
 * This user's tasks, after a reload, a log-in or on another device just as before (C1).
 *
 * @param filter `conversationId`: only that conversation's; null: only those without one; left out: all.
 */
export function useRestoredTasks(filter: { conversationId?: string | null } = {}): RestoredTasks {
  const { conversationId } = filter
  const tasks = useClientState(useMemo(() => selectTasks(conversationId), [conversationId]))
  const restore = useClientState((state) => state.restore)
  const offset = useClientState((state) => state.clockOffset)
  const passed = usePassedDeadline(tasks, offset)

  const placeholders = useMemo(
    () => toPlaceholders(tasks, Math.max(passed, Date.now() + offset)),
    [tasks, offset, passed],
  )
  return useMemo(
    () => ({ tasks, placeholders, restore, isRestoring: restore === 'loading' || restore === 'from-cache' }),
    [tasks, placeholders, restore],
  )
}

/** The latest deadline seen to pass, by the server's clock: nothing else would tell that a task is overdue now. */
function usePassedDeadline(tasks: TrackedTask[], offset: number): number {
  const [passed, setPassed] = useState(0)
  useEffect(() => {
    const now = Math.max(passed, Date.now() + offset)
    const next = tasks
      .filter((task) => !isTerminal(task.status) && task.deadlineAt !== null)
      .map((task) => Date.parse(task.deadlineAt ?? ''))
      .filter((deadline) => deadline > now && deadline - now <= LONGEST_TIMER_MS)
      .sort((a, b) => a - b)[0]
    if (next === undefined) return
    const timer = setTimeout(() => setPassed(next), next - now)
    return () => clearTimeout(timer)
  }, [tasks, offset, passed])
  return passed
}
