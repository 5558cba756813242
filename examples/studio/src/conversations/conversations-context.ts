import type { Conversation } from '@holdfast/shared'
import { createContext, use } from 'react'
import type { ConversationRow } from './conversation-rows.ts'

export interface Conversations {
  /** The server's list and what the tasks add to it. */
  rows: readonly ConversationRow[]
  /** Whether the server's list has been fetched at least once. */
  isLoaded: boolean
  error: unknown
  create(input: { id: string; title: string }): Promise<Conversation>
  markRead(conversationId: string): void
  reload(): void
}

export const ConversationsContext = createContext<Conversations | null>(null)

export function useConversations(): Conversations {
  const conversations = use(ConversationsContext)
  if (!conversations) throw new Error('useConversations needs a ConversationsProvider above it.')
  return conversations
}
