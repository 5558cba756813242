import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface BufferingProxy {
  url: string
  /** Requests that it holds back right now. */
  held(): number
  close(): Promise<void>
}

/** A proxy as some companies have: it passes an answer on when it has all of it, and a stream therefore never. */
export async function startBufferingProxy(target: string): Promise<BufferingProxy> {
  let held = 0
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = []
    held += 1
    const upstream = request(
      new URL(incoming.url ?? '/', target),
      { method: incoming.method, headers: incoming.headers },
      (answer) => {
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          outgoing.writeHead(answer.statusCode ?? 502, {
            'content-type': answer.headers['content-type'] ?? '',
          })
          outgoing.end(Buffer.concat(chunks))
        })
        answer.on('error', () => outgoing.destroy())
      },
    )
    upstream.on('error', () => outgoing.destroy())
    outgoing.on('close', () => {
      held -= 1
      upstream.destroy()
    })
    incoming.pipe(upstream)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held: () => held,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
