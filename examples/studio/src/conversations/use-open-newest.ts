import { useConnection } from '@holdfast/client/react'
import { useEffect } from 'react'
import { useClientState } from '../connection/use-client-state.ts'
import type { Route } from '../route/route.ts'
import { navigate } from '../route/use-route.ts'
import { useLasting } from '../ui/use-lasting.ts'
import { useConversations } from './conversations-context.ts'

/** A connection takes a moment to be there, in milliseconds. */
const WORTH_WAITING = 1500

/**
 * A visitor who comes without an address gets the conversation that was active last: most likely the one whose
 * generation they want to see again. Returns whether that is still being found out.
 */
export function useOpenNewest(route: Route): boolean {
  const { rows, isLoaded } = useConversations()
  const { connection } = useConnection()
  const isAway = useLasting(connection === 'offline', WORTH_WAITING)
  const isRestoring = useClientState((state) => state.restore === 'loading')
  const isAtStart = route.at === 'start'
  // With the server away, the newest conversation that the local copy knows of is as good as it gets.
  const isKnown = isLoaded || (isAway && !isRestoring)
  const newest = isKnown ? (rows.find((row) => row.working > 0) ?? rows[0])?.id : undefined
  useEffect(() => {
    if (isAtStart && newest) navigate({ at: 'conversation', conversationId: newest }, { replace: true })
  }, [isAtStart, newest])
  return isAtStart && !isKnown
}
