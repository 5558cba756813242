import { useEffect } from 'react'
import { useClientState } from '../connection/use-client-state.ts'
import type { Route } from '../route/route.ts'
import { navigate } from '../route/use-route.ts'
import { useConversations } from './conversations-context.ts'

/**
 * A visitor who comes without an address gets the conversation that was active last: most likely the one whose
 * generation they want to see again. Returns whether that is still being found out.
 */
export function useOpenNewest(route: Route): boolean {
  const { rows, isLoaded, error } = useConversations()
  const isRestoring = useClientState((state) => state.restore === 'loading')
  const isAtStart = route.at === 'start'
  // With the server away, the newest conversation that the local copy knows of is as good as it gets.
  const isKnown = isLoaded || (error !== null && !isRestoring)
  const newest = isKnown ? (rows.find((row) => row.working > 0) ?? rows[0])?.id : undefined
  useEffect(() => {
    if (isAtStart && newest) navigate({ at: 'conversation', conversationId: newest }, { replace: true })
  }, [isAtStart, newest])
  return isAtStart && !isKnown
}
