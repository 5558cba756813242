import type { Conversation, Message } from '@holdfast/shared'
import { allPages } from './all-pages.ts'
import type { Http } from './http.ts'

export interface Conversations {
  /** Newest activity first. */
  list(): Promise<Conversation[]>
  /** With an id (a UUID) of yours, the same call again finds the same conversation. */
  create(input: { title: string; id?: string }): Promise<Conversation>
  /** All of them, oldest first. */
  messages(conversationId: string): Promise<Message[]>
  markRead(conversationId: string): Promise<void>
}

/** `http` is asked for at every call: it belongs to whoever is signed in then. */
export function createConversations(http: () => Http): Conversations {
  const base = '/v1/conversations'
  const pathOf = (id: string, what: string) => `${base}/${encodeURIComponent(id)}/${what}`
  return {
    list: async () => (await http().json<{ conversations: Conversation[] }>('GET', base)).conversations,
    create: async (body) =>
      (await http().json<{ conversation: Conversation }>('POST', base, { body })).conversation,
    messages: async (id) => allPages<Message>(http(), pathOf(id, 'messages'), 'messages'),
    markRead: async (id) => void (await http().json('POST', pathOf(id, 'read'))),
  }
}
