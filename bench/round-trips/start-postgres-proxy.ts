import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createMessageReader, readText } from './read-messages.ts'

/**
 * A flight to PostgreSQL and back: what a client sends before it has heard anything, until the last that it hears before
 * it sends again. Statements that go down the wire together are one.
 */
export interface RoundTrip {
  startedAt: number
  endedAt: number
  statements: string[]
  hasRows: boolean
}

export interface PostgresProxy {
  /** The same database, through here. */
  through(databaseUrl: string): string
  /** How much later answers arrive: set at any time. */
  delayMs: number
  /** All round trips so far, in the order in which they began. */
  trips: RoundTrip[]
  stop(): Promise<void>
}

/** Stands between a server and PostgreSQL; notes every round trip and can make each longer. */
export async function startPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()

  function serve(client: Socket): void {
    const database = connect({ host: target.hostname, port: Number(target.port), noDelay: true })
    const names = new Map<string, string>()
    const readClient = createMessageReader({ skipsFirst: true })
    const readDatabase = createMessageReader({ skipsFirst: false })
    let trip: RoundTrip | null = null
    let hasAnswered = true

    client.on('data', (chunk: Buffer) => {
      if (hasAnswered || !trip) {
        trip = {
          startedAt: performance.now(),
          endedAt: Number.POSITIVE_INFINITY,
          statements: [],
          hasRows: false,
        }
        proxy.trips.push(trip)
        hasAnswered = false
      }
      for (const { letter, body } of readClient(chunk)) {
        const name = readText(body)
        if (letter === 'P') names.set(name, readText(body, name.length + 1))
        if (letter === 'Q') trip.statements.push(name)
        if (letter === 'B') trip.statements.push(names.get(readText(body, name.length + 1)) ?? '')
      }
      database.write(chunk)
    })
    database.on('data', (chunk: Buffer) => {
      const forward = () => {
        hasAnswered = true
        const hasRows = readDatabase(chunk).some(({ letter }) => letter === 'D')
        if (trip) {
          trip.endedAt = performance.now()
          trip.hasRows ||= hasRows
        }
        client.write(chunk)
      }
      // Timers of the same length fire in the order in which they were set.
      if (proxy.delayMs > 0) setTimeout(forward, proxy.delayMs)
      else forward()
    })
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(socket)
      // Either side may be killed; then the other has nobody to talk to.
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  }

  const server = createServer({ noDelay: true }, serve)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const proxy: PostgresProxy = {
    delayMs: 0,
    trips: [],
    through: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}
