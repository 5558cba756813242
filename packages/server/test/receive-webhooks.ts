import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedWebhook {
  /** Names in lower case. */
  headers: Record<string, string>
  body: string
  /** The address that was called, with its query. */
  url: string
}

/** An address that can be called back, and the calls as they came. */
export async function receiveWebhooks(
  statusOf: (nth: number) => number = () => 204,
  onCall: (call: ReceivedWebhook) => unknown = () => undefined,
) {
  const calls: ReceivedWebhook[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const call = {
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      ),
      body: Buffer.concat(chunks).toString('utf8'),
      url: `http://${request.headers.host}${request.url}`,
    }
    calls.push(call)
    await onCall(call)
    response.writeHead(statusOf(calls.length)).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    calls,
    url: `http://127.0.0.1:${port}/v1/webhooks/vendor/secret-of-this-task`,
    close: () =>
      new Promise<void>((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}
