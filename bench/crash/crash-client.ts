import { setTimeout as sleep } from 'node:timers/promises'
import type { Task } from '@holdfast/shared'
import { SERVICE_KEY } from './orders.ts'
import { until } from './until.ts'

interface CrashClientOptions {
  /** Where the server is at the moment; null while there is none. */
  serverUrl: () => string | null
  userId: string
}

/** What is sent to a path. */
interface Request {
  method?: 'GET' | 'POST'
  body?: unknown
  key?: string
  /** @default the user's */
  token?: string
  headers?: Record<string, string>
}

/** What the stream has told of a task. */
type Seen = Pick<Task, 'status' | 'version'>

interface Submission {
  type: string
  params: Record<string, unknown>
  conversationId?: string
  placeholderId: string
  /** A job that is to be adopted. Then it is the user's backend that asks. */
  externalId?: string
}

const CALL_LIMIT_MS = 5_000
const GIVE_UP_MS = 30_000
const BETWEEN_TRIES_MS = 50

/** A browser as far as a server can tell: repeats what got no answer with the same key, and keeps a stream open. */
export function createCrashClient({ serverUrl, userId }: CrashClientOptions) {
  const closed = new AbortController()

  /** Null if there was no answer, or one that says "try again". */
  async function call(path: string, { method = 'POST', body, key, token = userId, headers }: Request) {
    const url = serverUrl()
    if (!url) return null
    try {
      const response = await fetch(url + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          ...(key ? { 'idempotency-key': key } : {}),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([closed.signal, AbortSignal.timeout(CALL_LIMIT_MS)]),
      })
      const answer: unknown = await response.json()
      return response.status >= 500 ? null : { status: response.status, answer }
    } catch {
      // The server died under the call: exactly what a client cannot tell from a bad line.
      return null
    }
  }

  async function insist(path: string, request: Request = {}) {
    return until(`an answer to ${request.method ?? 'POST'} ${path}`, () => call(path, request), {
      withinMs: GIVE_UP_MS,
      everyMs: BETWEEN_TRIES_MS,
    })
  }

  const seen = new Map<string, Seen>()
  let lastEventId: string | null = null

  function take(block: string): void {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
    const data = field('data')
    if (data === undefined) return
    const told: { task?: Task; tasks?: Task[] } = JSON.parse(data)
    for (const { id, status, version } of told.tasks ?? (told.task ? [told.task] : [])) {
      seen.set(id, { status, version })
    }
    // Only now: whoever is cut off before that is told again.
    lastEventId = field('id') ?? lastEventId
  }

  async function watch(): Promise<void> {
    while (!closed.signal.aborted) {
      try {
        const response = await fetch(`${serverUrl() ?? 'http://127.0.0.1:9'}/v1/stream`, {
          headers: {
            authorization: `Bearer ${userId}`,
            ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }),
          },
          signal: closed.signal,
        })
        let text = ''
        for await (const piece of (response.body ?? new ReadableStream()).pipeThrough(
          new TextDecoderStream(),
        )) {
          const blocks = (text + piece).split('\n\n')
          text = blocks.pop() ?? ''
          if (response.ok) blocks.forEach(take)
        }
      } catch {
        // Cut off, or nobody there: come back.
      }
      await sleep(BETWEEN_TRIES_MS, undefined, { signal: closed.signal }).catch(() => undefined)
    }
  }

  let watching: Promise<void> | undefined

  return {
    userId,
    /** Opens a stream, and another whenever it is cut off. */
    watch(): void {
      watching ??= watch()
    },
    /** What the stream has told of a task; undefined if nothing. */
    seen: (taskId: string): Seen | undefined => seen.get(taskId),
    /** Asks again and again until it is answered. */
    ask: insist,
    async createConversation(id: string): Promise<void> {
      const { status } = await insist('/v1/conversations', { body: { id, title: 'Crash' } })
      if (status !== 201) throw new Error(`The conversation was answered with ${status}`)
    },
    async submit(body: Submission, key: string): Promise<{ status: number; task: Task }> {
      const { status, answer } = body.externalId
        ? await insist('/v1/tasks', { body: { ...body, provider: 'kie', userId }, key, token: SERVICE_KEY })
        : await insist('/v1/tasks', { body, key })
      if (status !== 200 && status !== 201) {
        throw new Error(`The submit was answered with ${status}: ${JSON.stringify(answer)}`)
      }
      return { status, task: (answer as { task: Task }).task }
    },
    async cancel(taskId: string): Promise<number> {
      return (await insist(`/v1/tasks/${taskId}/cancel`)).status
    },
    async close(): Promise<void> {
      closed.abort()
      await watching
    },
  }
}
