import type { TaskOutput } from './task.ts'

export interface Conversation {
  id: string
  title: string
  /** Messages written since it was last read. */
  unread: number
  lastMessageAt: string | null
  createdAt: string
  /** Rises by one with every write of the row: of two states the higher is the newer. */
  version: number
}

export interface ConversationList {
  /** All of them, newest activity first, at most 200. In a stream: those that changed. */
  conversations: Conversation[]
  /** How many of all that the user has are unread. */
  unreadConversations: number
}

export interface Message {
  id: string
  conversationId: string
  role: 'user' | 'assistant'
  content: string
  /** The task whose finish wrote this message. */
  taskId: string | null
  /** The placeholder that this message takes the place of. */
  placeholderId: string | null
  taskType: string | null
  outputs: TaskOutput[]
  params: Record<string, unknown>
  /** `params` and `content` are in short: they were long. */
  paramsOmitted?: true
  creditsSpent: number
  createdAt: string
}
