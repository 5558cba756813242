import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** All the ways in which a provider can be of no help. `busy`: 503 with `Retry-After`. `refused`: nobody listens. */
export const TROUBLES = ['5xx', 'busy', 'hang', 'garbage', 'html', 'refused'] as const
export type Trouble = (typeof TROUBLES)[number]

export interface Arrival {
  /** By this machine's clock, which is the database's too. */
  at: number
  operation: 'create' | 'query'
  /** The external id that was asked about, or the prompt of a create. */
  id: string
}

export interface ScriptedKie {
  url: string
  /** Every request in the order of arrival. */
  arrivals: Arrival[]
  /** Whether the task is over when asked for the nth time (from 1). By default it always is. */
  isFinished: (externalId: string, nth: number) => boolean
  /** Where the result of a task is. By default where no host is. */
  fileUrl: (externalId: string) => string
  /** How long every answer takes. */
  delayMs: number
  /** From now on answers wait until released. */
  hold(): void
  release(): void
  /** Begins to fail, or with null stops to. */
  be(trouble: Trouble | null): Promise<void>
  close(): Promise<void>
}

/** KIE's jobs API as far as the adapter uses it, with an exact log of what arrives and troubles on demand. */
export async function startProvider(): Promise<ScriptedKie> {
  const asked = new Map<string, number>()
  let trouble: Trouble | null = null
  let opened = Promise.resolve()
  let open = () => {}
  let port = 0
  let server: Server | null = null
  let jobs = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = Date.now()
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://kie')
    const isCreate = pathname === '/api/v1/jobs/createTask'
    const id = isCreate ? await readPrompt(request) : (searchParams.get('taskId') ?? '')
    kie.arrivals.push({ at, operation: isCreate ? 'create' : 'query', id })
    const nth = (asked.get(id) ?? 0) + 1
    if (!isCreate) asked.set(id, nth)
    switch (trouble) {
      case 'hang':
        return
      case '5xx':
        return end(response, 502, 'application/json', '{"error":"upstream"}')
      case 'busy':
        response.setHeader('retry-after', '1')
        return end(response, 503, 'text/plain', 'busy')
      case 'garbage':
        return end(response, 200, 'application/json', '{"code":200,"data":{"taskId":')
      case 'html':
        return end(response, 200, 'text/html', '<!doctype html><title>Just a moment…</title>')
    }
    const data = isCreate ? { taskId: `job-${++jobs}` } : record(id, nth)
    if (kie.delayMs > 0) await sleep(kie.delayMs)
    await opened
    end(response, 200, 'application/json', JSON.stringify({ code: 200, msg: 'success', data }))
  }

  function record(taskId: string, nth: number) {
    return kie.isFinished(taskId, nth)
      ? {
          taskId,
          state: 'success',
          resultJson: JSON.stringify({ resultUrls: [kie.fileUrl(taskId)] }),
        }
      : { taskId, state: 'generating' }
  }

  async function listen(): Promise<void> {
    const started = createServer((request, response) => {
      answer(request, response).catch(() => response.destroy())
    })
    await new Promise<void>((resolve, reject) => {
      started.once('error', reject)
      started.listen(port, '127.0.0.1', resolve)
    })
    const address = started.address()
    if (typeof address === 'object' && address) port = address.port
    server = started
  }

  function stopListening(): Promise<void> {
    return new Promise((resolve) => {
      if (!server) return resolve()
      server.close(() => resolve())
      server.closeAllConnections()
      server = null
    })
  }

  await listen()
  const kie: ScriptedKie = {
    url: `http://127.0.0.1:${port}`,
    arrivals: [],
    isFinished: () => true,
    fileUrl: (externalId) => `https://files.example/${externalId}.png`,
    delayMs: 0,
    hold() {
      opened = new Promise((resolve) => {
        open = resolve
      })
    },
    release: () => open(),
    async be(next) {
      trouble = next
      if (next === 'refused') await stopListening()
      else if (!server) await listen()
    },
    async close() {
      open()
      await stopListening()
    },
  }
  return kie
}

function end(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type }).end(body)
}

async function readPrompt(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const body: { input?: { prompt?: string } } = JSON.parse(Buffer.concat(chunks).toString())
  return body.input?.prompt ?? ''
}
