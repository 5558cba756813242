import { createConversations } from '@holdfast/client'
import { useHoldfast, useRestoredTasks } from '@holdfast/client/react'
import { type ReactNode, useEffect, useMemo } from 'react'
import { useClientState } from '../connection/use-client-state.ts'
import { conversationRows } from './conversation-rows.ts'
import { type Conversations, ConversationsContext } from './conversations-context.ts'

/** So many come by themselves. A user who has more sees the others, too. */
const FIRST_CONVERSATIONS = 50

/** What the client's store knows of conversations, as rows: made once for the page. */
export function ConversationsProvider({ children }: { children: ReactNode }) {
  const client = useHoldfast()
  const { tasks } = useRestoredTasks()
  const unsent = useClientState((state) => state.unsent)
  const conversations = useClientState((state) => state.conversations)
  const isLoaded = useClientState((state) => state.unreadConversations !== null)

  const mayBeMore = Object.keys(conversations).length >= FIRST_CONVERSATIONS
  useEffect(() => {
    if (!mayBeMore) return
    // The answer goes into the store.
    createConversations(client)
      .list()
      .catch(() => {
        // The newest are there all the same.
      })
  }, [client, mayBeMore])

  const value = useMemo<Conversations>(() => {
    const rows = conversationRows(Object.values(conversations), [...tasks, ...Object.values(unsent)])
    return { rows, isLoaded }
  }, [conversations, tasks, unsent, isLoaded])
  return <ConversationsContext value={value}>{children}</ConversationsContext>
}
