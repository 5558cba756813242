import type { Conversation, Message, Task } from '@holdfast/shared'
import type { HoldfastProcess } from './holdfast-process.ts'

export interface Api {
  userId: string
  token: string
  get(path: string): Promise<Response>
  conversations(): Promise<Conversation[]>
  messages(): Promise<Message[]>
  tasks(): Promise<Task[]>
}

/** The same user over plain HTTP: what the server holds, whatever any page shows. */
export async function apiOf(holdfast: HoldfastProcess, person: string): Promise<Api> {
  const login = await fetch(`${holdfast.url}/dev/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ user: person }),
  })
  const { token, userId } = (await login.json()) as { token: string; userId: string }
  const get = (path: string) =>
    fetch(`${holdfast.url}${path}`, { headers: { Authorization: `Bearer ${token}` } })
  const conversations = async () =>
    ((await (await get('/v1/conversations')).json()) as { conversations: Conversation[] }).conversations
  return {
    userId,
    token,
    get,
    conversations,
    async messages() {
      const lists = await Promise.all(
        (await conversations()).map(
          async ({ id }) =>
            (await (await get(`/v1/conversations/${id}/messages`)).json()) as { messages: Message[] },
        ),
      )
      return lists.flatMap(({ messages }) => messages)
    },
    async tasks() {
      return ((await (await get('/v1/tasks?status=all&limit=200')).json()) as { tasks: Task[] }).tasks
    },
  }
}
