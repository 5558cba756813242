import type { SyncAnswer, Task } from '@holdfast/shared'
import { readStream } from './read-stream.ts'
import type { CreateTransport } from './transport.ts'

/** Talks to `@holdfast/server`. What a client uses unless it is given another. */
export function createHoldfastTransport(): CreateTransport {
  return (link) => {
    const { http } = link
    const post = async (path: string, body?: unknown, key?: string) => {
      const headers: Record<string, string> = key === undefined ? {} : { 'Idempotency-Key': key }
      return (await http.json<{ task: Task }>('POST', `/v1/tasks${path}`, { body, headers })).task
    }
    const at = (taskId: string, verb: string) => `/${encodeURIComponent(taskId)}/${verb}`

    return {
      async list(query) {
        const all: Task[] = []
        let cursor: string | null = null
        do {
          const search = new URLSearchParams({ limit: '200', ...query, ...(cursor && { cursor }) })
          const page: { tasks: Task[]; nextCursor: string | null } = await http.json(
            'GET',
            `/v1/tasks?${search}`,
          )
          all.push(...page.tasks)
          cursor = page.nextCursor ?? null
        } while (cursor)
        return all
      },
      sync: ({ known, cursor }) =>
        http.json<SyncAnswer>('POST', '/v1/sync', { body: cursor === null ? { known } : { known, cursor } }),
      submit: (body, key) => post('', body, key),
      cancel: (taskId) => post(at(taskId, 'cancel')),
      retry: (taskId, key) => post(at(taskId, 'retry'), undefined, key),
      save: (taskId) => post(at(taskId, 'save')),
      stream: (options) => readStream(link, options),
    }
  }
}
