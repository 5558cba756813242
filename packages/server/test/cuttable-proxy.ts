import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface CuttableProxy {
  /** `target` with our address in place of its own. */
  url: string
  /** Breaks every connection and refuses new ones. */
  cut(): Promise<void>
  /** Lets connections through again, at the same address. */
  mend(): Promise<void>
  /** Keeps today's connections open and lets nothing through them, as a dead firewall does. New ones work. */
  freeze(): void
  close(): Promise<void>
}

/** Stands between the driver and PostgreSQL, so that a test can take the database away and give it back. */
export async function startCuttableProxy(target: string): Promise<CuttableProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()

  function keep(socket: Socket): void {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // What breaks here is what the test breaks.
    socket.on('error', () => {})
  }

  const server = createServer((inside) => {
    const outside = connect(Number(port), hostname)
    keep(inside)
    keep(outside)
    inside.pipe(outside).pipe(inside)
    inside.on('close', () => outside.destroy())
    outside.on('close', () => inside.destroy())
  })

  async function listen(at: number): Promise<number> {
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    return typeof address === 'object' && address ? address.port : at
  }

  async function cut(): Promise<void> {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }

  const ownPort = await listen(0)
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(ownPort)
  return {
    url: url.href,
    cut,
    mend: async () => {
      await listen(ownPort)
    },
    freeze: () => {
      for (const socket of sockets) {
        socket.unpipe()
        socket.pause()
      }
    },
    close: cut,
  }
}
