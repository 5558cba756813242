import { createServer, request } from 'node:http'
import type { Socket } from 'node:net'

export interface PageServer {
  url: string
  /** False: whoever calls the API loses the connection, streams included; the page itself is still served. */
  setOnline(online: boolean): void
  isOnline(): boolean
  close(): Promise<void>
}

const HTML = '<!doctype html><title>tab</title><body></body><script type="module" src="/page.js"></script>'

/** The page and, on the same origin, the API of `apiUrl`, with a network in between that can be cut. */
export async function servePage(script: string, apiUrl: string): Promise<PageServer> {
  let online = true
  const calls = new Set<Socket>()

  const server = createServer((incoming, outgoing) => {
    const { url = '/', method, headers, socket } = incoming
    if (url === '/' || url.startsWith('/?')) {
      outgoing.setHeader('Content-Type', 'text/html')
      return void outgoing.end(HTML)
    }
    if (url === '/page.js') {
      outgoing.setHeader('Content-Type', 'text/javascript')
      return void outgoing.end(script)
    }
    if (!online) return void socket.destroy()
    calls.add(socket)
    const onward = request(new URL(url, apiUrl), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('error', () => outgoing.destroy())
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => {
      calls.delete(socket)
      onward.destroy()
    })
    incoming.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://localhost:${typeof address === 'object' && address ? address.port : 0}`,
    isOnline: () => online,
    setOnline(next) {
      online = next
      if (!online) for (const socket of calls) socket.destroy()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
