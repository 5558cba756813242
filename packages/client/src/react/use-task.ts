import type { TrackedTask } from '../store/merge-tasks.ts'
import { useClientState } from './use-client-state.ts'

/** One task; re-renders for that task only. Undefined while it is not known here. */
export function useTask(id: string | null | undefined): TrackedTask | undefined {
  return useClientState(({ tasks }) => (id ? tasks[id] : undefined))
}
