import { setTimeout as sleep } from 'node:timers/promises'
import type { Task } from '@holdfast/shared'
import { SERVICE_KEY } from './orders.ts'
import { until } from './until.ts'

interface CrashClientOptions {
  /** Where the server is at the moment; null while there is none. */
  serverUrl: () => string | null
  userId: string
}

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
  async function call(path: string, body?: unknown, key?: string, token = userId) {
    const url = serverUrl()
    if (!url) return null
    try {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          ...(key ? { 'idempotency-key': key } : {}),
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

  async function insist(path: string, body?: unknown, key?: string, token?: string) {
    return until(`an answer to POST ${path}`, () => call(path, body, key, token), {
      withinMs: GIVE_UP_MS,
      everyMs: BETWEEN_TRIES_MS,
    })
  }

  async function watch(): Promise<void> {
    while (!closed.signal.aborted) {
      try {
        const response = await fetch(`${serverUrl() ?? 'http://127.0.0.1:9'}/v1/stream`, {
          headers: { authorization: `Bearer ${userId}` },
          signal: closed.signal,
        })
        for await (const _ of response.body ?? []);
      } catch {
        // Cut off, or nobody there: come back.
      }
      await sleep(BETWEEN_TRIES_MS, undefined, { signal: closed.signal }).catch(() => undefined)
    }
  }
  const watching = watch()

  return {
    async createConversation(id: string): Promise<void> {
      const { status } = await insist('/v1/conversations', { id, title: 'Crash' })
      if (status !== 201) throw new Error(`The conversation was answered with ${status}`)
    },
    async submit(body: Submission, key: string): Promise<{ status: number; task: Task }> {
      const { status, answer } = body.externalId
        ? await insist('/v1/tasks', { ...body, provider: 'kie', userId }, key, SERVICE_KEY)
        : await insist('/v1/tasks', body, key)
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
