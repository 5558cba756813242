import { createContext, createElement, type ReactElement, type ReactNode, useContext } from 'react'
import type { HoldfastClient } from '../create-client.ts'

const ClientContext = createContext<HoldfastClient | null>(null)

export interface HoldfastProviderProps {
  client: HoldfastClient
  children?: ReactNode
}

/** The client is the app's: it outlives every mount, so StrictMode and many hooks cause one restore. */
export function HoldfastProvider({ client, children }: HoldfastProviderProps): ReactElement {
  return createElement(ClientContext.Provider, { value: client }, children)
}

export function useHoldfast(): HoldfastClient {
  const client = useContext(ClientContext)
  if (!client) throw new Error('No Holdfast client here. Wrap the tree in <HoldfastProvider client={…}>.')
  return client
}
