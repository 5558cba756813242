import { useMemo } from 'react'
import type { ClientState } from '../store/task-store.ts'
import { useClientState } from './use-client-state.ts'

/** How this tab is doing. */
export function useConnection(): Pick<
  ClientState,
  'connection' | 'role' | 'storage' | 'storageProblem' | 'tabId'
> {
  const connection = useClientState((state) => state.connection)
  const role = useClientState((state) => state.role)
  const storage = useClientState((state) => state.storage)
  const storageProblem = useClientState((state) => state.storageProblem)
  const tabId = useClientState((state) => state.tabId)
  return useMemo(
    () => ({ connection, role, storage, storageProblem, tabId }),
    [connection, role, storage, storageProblem, tabId],
  )
}
