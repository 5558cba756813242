import { oldestFirst } from '../placeholders/placeholder.ts'
import type { TaskMap, TrackedTask } from '../store/merge-tasks.ts'
import type { ClientState } from '../store/task-store.ts'

/** Oldest first. Gives the same array as long as it would hold the same tasks. */
export function selectTasks(
  conversationId: string | null | undefined,
): (state: ClientState) => TrackedTask[] {
  let seen: TaskMap | undefined
  let list: TrackedTask[] = []
  return ({ tasks }) => {
    if (tasks === seen) return list
    seen = tasks
    const next = Object.values(tasks)
      .filter((task) => conversationId === undefined || task.conversationId === conversationId)
      .sort(oldestFirst)
    if (next.length !== list.length || next.some((task, index) => task !== list[index])) list = next
    return list
  }
}
