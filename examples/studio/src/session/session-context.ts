import { createContext, use, useSyncExternalStore } from 'react'
import type { SavedSession } from './saved-session.ts'
import type { Session, SessionState } from './session.ts'

export const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = use(SessionContext)
  if (!session) throw new Error('useSession needs a SessionContext above it.')
  return session
}

export function useSessionState(): SessionState {
  const session = useSession()
  return useSyncExternalStore(session.subscribe, session.getState)
}

/** For what is only shown to people who are signed in. */
export function useSignedInUser(): SavedSession {
  const { user } = useSessionState()
  if (!user) throw new Error('useSignedInUser needs someone signed in.')
  return user
}
