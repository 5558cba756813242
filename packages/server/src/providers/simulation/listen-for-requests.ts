import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Answer, sendAnswer } from './reply.ts'

export interface ListenOptions {
  port: number
  host: string
  log: (line: string) => void
}

/** An HTTP server that gives the answers of one function. */
export async function listenForRequests(
  answer: (request: IncomingMessage) => Promise<Answer>,
  { port: wanted, host, log }: ListenOptions,
) {
  const server = createServer((request, response) => {
    answer(request)
      .then((given) => sendAnswer(response, given))
      .catch((error: unknown) => {
        log(`${request.method} ${request.url}: ${error instanceof Error ? error.message : 'failed'}`)
        if (response.headersSent) response.destroy()
        else response.writeHead(500).end()
      })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(wanted, host, () => resolve())
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    /** Ends what hangs, too. */
    close: () =>
      new Promise<void>((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}
