import type { AnyTasks, TaskCatalog, TypedTask } from './task-catalog.ts'
import { useClientState } from './use-client-state.ts'

/** One task, or by its key one that is not sent yet; re-renders for that one only. Undefined while it is not known here. */
export function useTask<C extends TaskCatalog = AnyTasks, K extends keyof C = keyof C>(
  id: string | null | undefined,
): TypedTask<C, K> | undefined {
  return useClientState(({ tasks, unsent }) => (id ? (tasks[id] ?? unsent[id]) : undefined)) as
    | TypedTask<C, K>
    | undefined
}
