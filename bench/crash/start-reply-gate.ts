import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { ALERTS_PATH, CREATED_PATH } from './gate-paths.ts'

interface ReplyGate {
  url: string
  /** From now on the replies to creates are held back. */
  hold(): void
  /** Lets them go. */
  release(): void
  /** From now on they are lost, and can be asked for: in vain the first time. */
  lose(): void
  /** The id of what the provider accepted last; empty if nothing. */
  accepted(): string
  /** Nobody listens any more. */
  leave(): Promise<void>
  /** Somebody does again, at the same place. */
  comeBack(): Promise<void>
  close(): Promise<void>
}

/** Stands before the provider, and can hold its replies to creates back: the slowness of a real one, on demand. */
export async function startReplyGate(target: string): Promise<ReplyGate> {
  let opened = Promise.resolve()
  let release = () => {}
  let losing = false
  let accepted = ''
  let asked = 0
  let alerts = 0

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === CREATED_PATH) {
      response.writeHead(losing && accepted && asked++ > 0 ? 200 : 404).end(accepted)
      return
    }
    if (request.url === ALERTS_PATH) {
      // Not the first time: it has to be said again.
      response.writeHead(alerts++ > 0 ? 200 : 500).end()
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const reply = await fetch(new URL(request.url ?? '/', target), {
      method: request.method,
      headers: {
        authorization: request.headers.authorization ?? '',
        'content-type': 'application/json',
        'user-agent': request.headers['user-agent'] ?? '',
      },
      ...(request.method === 'POST' ? { body: Buffer.concat(chunks) } : {}),
    })
    const body = Buffer.from(await reply.arrayBuffer())
    if (request.method === 'POST') {
      accepted = /"taskId":"([^"]+)"/.exec(body.toString())?.[1] ?? accepted
      await opened
    }
    if (request.method === 'POST' && losing) {
      response.destroy()
      return
    }
    const retryAfter = reply.headers.get('retry-after')
    response.writeHead(reply.status, {
      'content-type': reply.headers.get('content-type') ?? 'application/json',
      ...(retryAfter ? { 'retry-after': retryAfter } : {}),
    })
    response.end(body)
  }

  const server = createServer((request, response) => {
    // Cut off over there is cut off over here.
    forward(request, response).catch(() => response.destroy())
  })
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
  const leave = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  await listen(0)
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The gate has no port.')

  const { port } = address

  return {
    url: `http://127.0.0.1:${port}`,
    accepted: () => accepted,
    leave,
    comeBack: () => listen(port),
    hold() {
      opened = new Promise((resolve) => {
        release = resolve
      })
    },
    release: () => release(),
    lose() {
      losing = true
    },
    close() {
      release()
      return leave()
    },
  }
}
