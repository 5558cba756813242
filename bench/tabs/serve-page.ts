import { createServer, request } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** One call of the API by a page, as the network between them saw it. */
export interface Call {
  at: number
  /** Infinity: still under way. */
  endedAt: number
  method: string
  path: string
  /** Which tab called and what its release is, from the address of the page. */
  tab: string | null
  release: string | null
  /** The idempotency key. */
  key: string | null
  /** Whether it got through to the server. */
  isForwarded: boolean
  /** Whether the whole answer was passed on. */
  isAnswered: boolean
}

export interface PageServer {
  url: string
  /** False: whoever calls the API loses the connection, streams included; the page itself is still served. */
  setOnline(online: boolean): void
  isOnline(): boolean
  /** How long every call but a stream is under way before the server sees it. */
  setDelay(ms: number): void
  /** Since the start. */
  calls: readonly Call[]
  close(): Promise<void>
}

/** The script of each release; the page chooses by `?release=`. */
export interface Scripts {
  current: string
  next: string
}

const htmlOf = (release: string) =>
  `<!doctype html><title>tab</title><body></body><script type="module" src="/${release}.js"></script>`

/** The page and, on the same origin, the API of `apiUrl`, with a network in between that can be cut. */
export async function servePage(scripts: Scripts, apiUrl: string): Promise<PageServer> {
  let online = true
  let delayMs = 0
  const sockets = new Set<Socket>()
  const calls: Call[] = []

  const server = createServer(async (incoming, outgoing) => {
    const { url = '/', method = 'GET', headers, socket } = incoming
    const { pathname, searchParams } = new URL(url, 'http://page')
    if (pathname === '/') {
      outgoing.setHeader('Content-Type', 'text/html')
      return void outgoing.end(htmlOf(searchParams.get('release') ?? 'current'))
    }
    const script = scripts[pathname.slice(1, -3) as keyof Scripts]
    if (script) {
      outgoing.setHeader('Content-Type', 'text/javascript')
      return void outgoing.end(script)
    }
    const from = new URL(headers.referer ?? 'http://nobody').searchParams
    const call: Call = {
      at: Date.now(),
      endedAt: Number.POSITIVE_INFINITY,
      method,
      path: pathname,
      tab: from.get('tab'),
      release: from.get('release'),
      key: headers['idempotency-key']?.toString() ?? null,
      isForwarded: false,
      isAnswered: false,
    }
    calls.push(call)
    const end = () => {
      call.endedAt = Math.min(call.endedAt, Date.now())
    }
    if (!online) {
      end()
      return void socket.destroy()
    }
    sockets.add(socket)
    outgoing.on('finish', () => {
      call.isAnswered = true
      end()
    })
    outgoing.on('close', () => {
      sockets.delete(socket)
      end()
    })
    if (delayMs > 0 && method === 'POST') await sleep(delayMs)
    if (socket.destroyed) return
    call.isForwarded = true
    const onward = request(new URL(url, apiUrl), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('error', () => outgoing.destroy())
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://localhost:${typeof address === 'object' && address ? address.port : 0}`,
    calls,
    isOnline: () => online,
    setOnline(next) {
      online = next
      if (!online) for (const socket of sockets) socket.destroy()
    },
    setDelay(ms) {
      delayMs = ms
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
