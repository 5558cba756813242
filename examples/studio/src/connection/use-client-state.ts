import type { ClientState } from '@holdfast/client'
import { useHoldfast } from '@holdfast/client/react'
import { useSyncExternalStore } from 'react'

/** One value of the client's state. `select` must return the same value for the same state (no new objects). */
export function useClientState<T>(select: (state: ClientState) => T): T {
  const { store } = useHoldfast()
  return useSyncExternalStore(
    store.subscribe,
    () => select(store.getState()),
    () => select(store.getInitialState()),
  )
}
