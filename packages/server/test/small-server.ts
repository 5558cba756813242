import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SmallRequest {
  method: string
  /** With the query. */
  path: string
  headers: Record<string, string>
  body: string
}

export interface SmallReply {
  /** @default 200 */
  status?: number
  headers?: Record<string, string>
  /** Sent as JSON, unless there is a `body`. */
  json?: unknown
  body?: string
}

/** A real HTTP server that answers as the test wants and remembers what it was asked. Null cuts the connection. */
export async function startSmallServer(
  answer: (request: SmallRequest, nth: number) => SmallReply | null,
): Promise<{ url: string; requests: SmallRequest[]; close(): Promise<void> }> {
  const requests: SmallRequest[] = []
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
    const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])
    const request = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: Object.fromEntries(headers) as Record<string, string>,
      body: Buffer.concat(chunks).toString('utf8'),
    }
    requests.push(request)
    const reply = answer(request, requests.length)
    if (!reply) return response.destroy()
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers })
    response.end(reply.body ?? (reply.json === undefined ? '' : JSON.stringify(reply.json)))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}
