import type { StreamEnd, StreamEvents, SyncAnswer, Task } from '@holdfast/shared'
import type { Clock } from '../environment/clock.ts'
import type { Http } from './http.ts'

/** What is asked for, as it goes over the wire. */
export interface SubmitBody {
  type: string
  params: Record<string, unknown>
  conversationId?: string
  /** Instead of `conversationId`: made together with the task, if the user has none of that id (a UUID). */
  conversation?: { id: string; title: string }
  placeholderId?: string
  metadata?: Record<string, unknown>
}

export interface SyncQuestion {
  /** Task id → [version, progress] of what is held here. */
  known: Record<string, [version: number, progress: number | null]>
  /** Null: everything, not only what changed since. */
  cursor: string | null
}

type NewsEvent = Exclude<keyof StreamEvents, 'end'>

export type StreamNews = { [E in NewsEvent]: { event: E; data: StreamEvents[E] } }[NewsEvent]

/**
 * Why a stream is over: the server said so (`token-expired`, `shutdown`, `superseded`), it broke (`closed`), it went
 * quiet (`silent`), or nothing ever came through (`mute`: something between us and the server collects streams).
 */
export type StreamOutcome = StreamEnd | 'closed' | 'silent' | 'mute'

export interface StreamOptions {
  /** Resume from here. */
  cursor: string | null
  /** Lets the server tell the newer of two leaders of one browser. */
  epoch: number
  freshToken: boolean
  signal: AbortSignal
  /** Called with each piece of news and the cursor that includes it. */
  onNews(news: StreamNews, cursor: string | null): void
  /** Given a function that ends the stream now if it has been silent for too long (timers sleep with the machine). */
  onOpen(checkSilence: () => void): void
}

/**
 * What the client needs of a backend. Write your own for one that is not Holdfast's; every method rejects with
 * `HoldfastError`, whose code `NETWORK` or `UNAVAILABLE` means "try again".
 */
export interface Transport {
  sync(question: SyncQuestion): Promise<SyncAnswer>
  /** The same key again is the same task. */
  submit(body: SubmitBody, key: string): Promise<Task>
  cancel(taskId: string): Promise<Task>
  /** A failed or cancelled task again, as a new one. */
  retry(taskId: string, key: string): Promise<Task>
  /** Writes the message of a finished task that has none. */
  save(taskId: string): Promise<Task>
  /** Reads one stream to its end; rejects when it cannot be opened. Left out: the client polls. */
  stream?(options: StreamOptions): Promise<StreamOutcome>
}

/** What a transport gets of the client: calls that carry the user's token, time, and the name of this browser. */
export interface TransportLink {
  http: Http
  clock: Clock
  browserId(): string
}

/** Called at each sign-in. */
export type CreateTransport = (link: TransportLink) => Transport
