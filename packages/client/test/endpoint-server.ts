import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ContractServer } from './contract-server.ts'

/** An app's own API over the same tasks: its running ones, the status of one, and its own names for everything. */
export async function startEndpointServer(holdfast: ContractServer) {
  const forward = async (
    request: { headers: Record<string, unknown> },
    method: string,
    path: string,
    body?: string,
  ) =>
    fetch(`${holdfast.url}${path}`, {
      method,
      ...(body === undefined ? {} : { body }),
      headers: {
        'content-type': 'application/json',
        ...(request.headers.authorization ? { authorization: String(request.headers.authorization) } : {}),
        ...(request.headers['x-key'] ? { 'idempotency-key': String(request.headers['x-key']) } : {}),
      },
    })

  const rename = ({ id, type, status, progress, params, ...task }: Record<string, unknown>) => ({
    external_task_id: id,
    kind: type,
    status: status === 'completed' ? 'success' : status,
    percent: progress,
    request_params: params,
    placeholder_message_id: task.placeholderId,
    retry_of: task.retryOf,
    message_id: task.messageId,
    started_at: task.createdAt,
  })

  const http = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const [, , , id, verb] = (request.url ?? '').split('/')
    const answers = async (upstream: Response, pick: (body: never) => unknown) => {
      const body = await upstream.json()
      response.writeHead(upstream.status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(upstream.ok ? pick(body as never) : { error: 'refused' }))
    }
    const one = ({ task }: { task: Record<string, unknown> }) => rename(task)
    if (id === 'pending') {
      const all = await forward(request, 'POST', '/v1/sync', '{}')
      return answers(all, ({ tasks }: { tasks: Record<string, unknown>[] }) =>
        tasks.filter(({ status }) => status === 'pending' || status === 'running').map(rename),
      )
    }
    if (request.method === 'GET') {
      const all = await forward(request, 'POST', '/v1/sync', '{}')
      if (!all.ok) return answers(all, one)
      const { tasks } = (await all.json()) as { tasks: Record<string, unknown>[] }
      const task = tasks.find((candidate) => candidate.id === id)
      response.writeHead(task ? 200 : 404, { 'content-type': 'application/json' })
      return response.end(JSON.stringify(task ? rename(task) : { error: 'no such task' }))
    }
    const path = id ? `/v1/tasks/${id}/${verb}` : '/v1/tasks'
    return answers(await forward(request, 'POST', path, text), one)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/api`,
    async stop() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
