import type { Task } from '@holdfast/shared'
import type { Environment } from '../environment/environment.ts'
import type { Inbox } from '../inbox/inbox.ts'
import type { createLadder } from '../leadership/ladder.ts'
import type { NewIntent, Outbox } from '../outbox/outbox.ts'
import type { ConversationNews, TaskStore } from '../store/task-store.ts'
import type { Http } from '../transport/http.ts'
import type { CreateTransport, Transport } from '../transport/transport.ts'
import type { Emit } from './client-events.ts'

/** Signs a user in for one call at a time. */
export interface User {
  id: string
  /** Called for every connection; `fresh` is true after a 401 or when the server ended a stream whose token expired. */
  getToken(options: { fresh: boolean }): string | Promise<string>
}

export interface SessionOptions {
  user: User
  app: string
  deployment: string | undefined
  url: string
  environment: Environment
  transport: CreateTransport
  store: TaskStore
  emit: Emit
  /** The user signed out in another tab. */
  onLogout(forget: boolean): void
}

/** One user's time with this tab: from `setUser` to the next `setUser` or `logout`. */
export interface Session {
  readonly http: Http
  readonly transport: Transport
  readonly outbox: Outbox
  readonly inbox: Inbox
  /** Resolves when the local copy has been painted, or there is none. */
  readonly painted: Promise<void>
  setToken(getToken: User['getToken']): void
  submit(intent: NewIntent): Promise<{ durable: boolean; task: Promise<Task> }>
  /** Takes in a task that an API call answered with. */
  learn(task: Task): void
  learnConversations(news: ConversationNews): void
  refresh(): Promise<void>
  inspect(): SessionInsight
  /** Ends it: nothing that arrives later is taken in, and nothing is written or deleted. */
  end(): void
  /** Ends it with the page: what waits to be written for the next one is written. */
  close(): Promise<void>
  /** Ends it, deletes what this browser shows of the user, and tells the other tabs unless one of them told us. */
  purge(options: { tellOthers: boolean; forget: boolean }): Promise<void>
}

export type SessionInsight = ReturnType<ReturnType<typeof createLadder>['inspect']> & {
  cursor: string | null
}
