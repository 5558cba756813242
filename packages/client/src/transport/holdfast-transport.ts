import type { SyncAnswer, Task } from '@holdfast/shared'
import { readStream } from './read-stream.ts'
import type { CreateTransport } from './transport.ts'

/** Talks to `@holdfast/server`. What a client uses unless it is given another. */
export function createHoldfastTransport(): CreateTransport {
  return (link) => {
    const { http } = link
    const post = async (path: string, body?: unknown, key?: string) => {
      const headers = key === undefined ? undefined : { 'Idempotency-Key': key }
      return (await http.json<{ task: Task }>('POST', `/v1/tasks${path}`, { body, headers })).task
    }
    const at = (taskId: string, verb: string) => `/${encodeURIComponent(taskId)}/${verb}`

    return {
      sync: ({ known, cursor }) =>
        http.json<SyncAnswer>('POST', '/v1/sync', { body: { known, cursor: cursor ?? undefined } }),
      submit: (body, key) => post('', body, key),
      cancel: (taskId) => post(at(taskId, 'cancel')),
      retry: (taskId, key) => post(at(taskId, 'retry'), undefined, key),
      save: (taskId) => post(at(taskId, 'save')),
      stream: (options) => readStream(link, options),
    }
  }
}
