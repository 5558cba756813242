import { createContext, use } from 'react'
import type { ConversationRow } from './conversation-rows.ts'

export interface Conversations {
  /** The server's conversations and what the tasks add to them. */
  rows: readonly ConversationRow[]
  /** Whether the server has told of them. */
  isLoaded: boolean
}

export const ConversationsContext = createContext<Conversations | null>(null)

export function useConversations(): Conversations {
  const conversations = use(ConversationsContext)
  if (!conversations) throw new Error('useConversations needs a ConversationsProvider above it.')
  return conversations
}
