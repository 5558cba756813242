import type { Conversation, ConversationList, Message } from '@holdfast/shared'
import { allPages } from './all-pages.ts'
import type { Http } from './http.ts'

export interface Conversations {
  /** Newest activity first. */
  list(): Promise<Conversation[]>
  /** The same list, and how many of all conversations are unread: for a badge. */
  overview(): Promise<ConversationList>
  /** With an id (a UUID) of yours, the same call again finds the same conversation. */
  create(input: { title: string; id?: string }): Promise<Conversation>
  /** All of them, oldest first. */
  messages(conversationId: string): Promise<Message[]>
  markRead(conversationId: string): Promise<void>
}

/**
 * The conversations of whoever is signed in, for apps that keep theirs in Holdfast.
 *
 * @example
 * const conversations = createConversations(client)
 * const messages = await conversations.messages(id)
 */
export function createConversations({ request }: { request: Http['json'] }): Conversations {
  const base = '/v1/conversations'
  const pathOf = (id: string, what: string) => `${base}/${encodeURIComponent(id)}/${what}`
  const overview = () => request<ConversationList>('GET', base)
  return {
    list: async () => (await overview()).conversations,
    overview,
    create: async (body) =>
      (await request<{ conversation: Conversation }>('POST', base, { body })).conversation,
    messages: async (id) => allPages<Message>(request, pathOf(id, 'messages'), 'messages'),
    markRead: async (id) => void (await request('POST', pathOf(id, 'read'))),
  }
}
