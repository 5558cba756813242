import { useSyncExternalStore } from 'react'
import type { ClientState } from '../store/task-store.ts'
import { useHoldfast } from './holdfast-provider.ts'

/** Re-renders when what is selected changes. The selector must give the same value for the same state. */
export function useClientState<T>(select: (state: ClientState) => T): T {
  const { store } = useHoldfast()
  return useSyncExternalStore(
    store.subscribe,
    () => select(store.getState()),
    () => select(store.getInitialState()),
  )
}
