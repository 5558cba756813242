import type { Conversation, ConversationList, Message } from '@holdfast/shared'
import type { HoldfastClient } from '../create-client.ts'
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
  /** `client.store` and the other tabs know of it as soon as the server has answered. */
  markRead(conversationId: string): Promise<void>
}

/** What the server answers: one, or a list, and how many of all are unread. */
type Answer = Partial<ConversationList> & { conversation?: Conversation }

/**
 * The conversations of the user who is signed in, for apps that keep theirs in Holdfast. What is new in them comes by itself,
 * as `conversations` and `unreadConversations` of `client.store`.
 *
 * @example
 * const conversations = createConversations(client)
 * const messages = await conversations.messages(id)
 */
export function createConversations({
  request,
  session,
}: Pick<HoldfastClient, 'request' | 'session'>): Conversations {
  const base = '/v1/conversations'
  const pathOf = (id: string, what: string) => `${base}/${encodeURIComponent(id)}/${what}`

  /** The store takes in what is answered, and so do the other tabs: those of the session that asked. */
  async function ask<A extends Answer>(...call: Parameters<Http['json']>): Promise<A> {
    const { http, learnConversations } = session()
    const answer = await http.json<A>(...call)
    const { conversation, conversations = conversation && [conversation], unreadConversations } = answer
    learnConversations({ conversations, unreadConversations })
    return answer
  }

  const overview = () => ask<ConversationList>('GET', base)
  return {
    list: async () => (await overview()).conversations,
    overview,
    create: async (body) => (await ask<{ conversation: Conversation }>('POST', base, { body })).conversation,
    messages: async (id) => allPages<Message>(request, pathOf(id, 'messages'), 'messages'),
    markRead: async (id) => void (await ask('POST', pathOf(id, 'read'))),
  }
}
