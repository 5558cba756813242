import type { Credits } from '@holdfast/client'
import { createContext, useContext } from 'react'

/** Null until they are known, and where nothing is charged. */
export const CreditsContext = createContext<Credits | null>(null)

export function useCredits(): Credits | null {
  return useContext(CreditsContext)
}
