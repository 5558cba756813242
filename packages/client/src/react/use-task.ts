import type { TrackedTask } from '../store/merge-tasks.ts'
import { useClientState } from './use-client-state.ts'

/** One task, or by its key one that is not sent yet; re-renders for that one only. Undefined while it is not known here. */
export function useTask(id: string | null | undefined): TrackedTask | undefined {
  return useClientState(({ tasks, unsent }) => (id ? (tasks[id] ?? unsent[id]) : undefined))
}
