import type { LookupAddress } from 'node:dns'
import type { Socket } from 'node:net'
import { buildConnector, Client } from 'undici'
import { admits } from './address-rules.ts'
import { forbiddenAddress, hostOf, type Target } from './check-url.ts'
import { type Lookup, resolveHost } from './resolve-host.ts'
import { SourceError } from './source-error.ts'

/** Opens a socket to one of `addresses`, which have been checked, and never looks up a name itself. */
export type Dial = (
  options: buildConnector.Options,
  addresses: LookupAddress[],
  callback: buildConnector.Callback,
) => void

export interface Connection {
  readonly client: Client
  /** It has answered before, so the other side may be about to close it. */
  reused: boolean
  socket: Socket | null
}

export interface Connections {
  take(target: Target, options: { fresh: boolean; signal: AbortSignal }): Promise<Connection>
  /** After a whole answer: for the next file from there. */
  giveBack(connection: Connection, target: Target): void
  drop(connection: Connection): void
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 10_000

/**
 * Connections to whoever holds result files, kept for a few seconds between files. One undici `Client` is one
 * connection, so a request knows its socket, and how many there are is up to how many files the caller fetches at a time.
 */
export function createConnections({ lookup, dial }: { lookup: Lookup; dial: Dial }): Connections {
  const idle = new Map<string, Connection[]>()
  const all = new Set<Connection>()
  let closed = false

  const remove = (key: string, connections: Connection[], place: number) => {
    const [removed] = connections.splice(place, 1)
    if (connections.length === 0) idle.delete(key)
    return removed
  }
  const forget = (connection: Connection) => {
    all.delete(connection)
    for (const [key, connections] of idle) {
      const place = connections.indexOf(connection)
      if (place !== -1) remove(key, connections, place)
    }
  }
  /** The one used last, which has the longest to live. */
  const takeIdle = (key: string): Connection | undefined => {
    for (let kept = idle.get(key); kept; kept = idle.get(key)) {
      const last = remove(key, kept, kept.length - 1)
      if (last?.socket?.destroyed === false) return last
    }
    return undefined
  }
  const drop = (connection: Connection) => {
    forget(connection)
    return connection.client.destroy()
  }

  const connect = async (target: Target): Promise<Connection> => {
    const addresses = await resolveHost(hostOf(target.url), target.reach, lookup)
    if (closed) throw stopped()
    const client = new Client(target.url.origin, {
      allowH2: false,
      pipelining: 1,
      keepAliveTimeout: 4_000,
      // A stranger's Keep-Alive header must not make us hold the connection for ten minutes.
      keepAliveMaxTimeout: 10_000,
      connect: (options, callback) =>
        dial(options, addresses, (error, socket) => {
          if (!socket) return callback(error ?? new Error('no socket'), null)
          // The rule is about where the bytes come from, so the last word has the connection itself.
          if (!admits(target.reach, socket.remoteAddress ?? '')) {
            socket.on('error', () => undefined).destroy()
            return callback(forbiddenAddress(), null)
          }
          connection.socket = socket
          callback(null, socket)
        }),
    })
    const connection: Connection = { client, reused: false, socket: null }
    // Whoever uses it learns it from the request; an idle one is only to be forgotten.
    client.on('disconnect', () => void drop(connection))
    all.add(connection)
    return connection
  }

  return {
    async take(target, { fresh, signal }) {
      if (closed) throw stopped()
      const kept = fresh ? undefined : takeIdle(keyOf(target))
      if (kept) return kept
      return await beforeAbort(connect(target), signal, (late) => void drop(late))
    },
    giveBack(connection, target) {
      if (closed || !all.has(connection) || connection.socket?.destroyed !== false)
        return void drop(connection)
      connection.reused = true
      const key = keyOf(target)
      const others = idle.get(key)
      if (others) others.push(connection)
      else idle.set(key, [connection])
    },
    drop: (connection) => void drop(connection),
    async close() {
      closed = true
      await Promise.all([...all].map(drop))
    },
  }
}

/** Connections made under a wider rule are never used under a narrower one. */
function keyOf({ url, reach }: Target): string {
  return `${reach} ${url.origin}`
}

function stopped(): SourceError {
  return new SourceError('CUT', 'The transfer was stopped because the server is closing.')
}

/** Gives up waiting when the signal aborts; what comes after that goes to `late`. */
function beforeAbort<T>(step: Promise<T>, signal: AbortSignal, late: (value: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      step.then(late, () => undefined)
      reject(signal.reason)
    }
    if (signal.aborted) return giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
    const settle = () => signal.removeEventListener('abort', giveUp)
    step.finally(settle).then(resolve, reject)
  })
}

/** Happy eyeballs over the given addresses. Certificates are checked whatever the environment says. */
export const dialByTcp: Dial = (options, addresses, callback) =>
  buildConnector({
    allowH2: false,
    maxCachedSessions: 0,
    timeout: CONNECT_TIMEOUT_MS,
    rejectUnauthorized: true,
    lookup: (_hostname, { all }, done) => {
      const [first] = addresses
      if (all || !first) done(null, addresses)
      else done(null, first.address, first.family)
    },
  })(options, callback)
