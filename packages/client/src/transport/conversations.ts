import type { Conversation, Message } from '@holdfast/shared'
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
  const pathOf = (id: string) => `/v1/conversations/${encodeURIComponent(id)}`
  return {
    async list() {
      const { conversations } = await http().json<{ conversations: Conversation[] }>(
        'GET',
        '/v1/conversations',
      )
      return conversations
    },
    async create(input) {
      const options = { body: input }
      const answer = await http().json<{ conversation: Conversation }>('POST', '/v1/conversations', options)
      return answer.conversation
    },
    async messages(conversationId) {
      const session = http()
      const all: Message[] = []
      let cursor: string | null = null
      do {
        const query = new URLSearchParams({ limit: '200', ...(cursor === null ? {} : { cursor }) })
        const path = `${pathOf(conversationId)}/messages?${query}`
        const page: { messages: Message[]; nextCursor: string | null } = await session.json('GET', path)
        all.push(...page.messages)
        cursor = page.nextCursor
      } while (cursor !== null)
      return all
    },
    async markRead(conversationId) {
      await http().json('POST', `${pathOf(conversationId)}/read`)
    },
  }
}
