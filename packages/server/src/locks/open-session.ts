import { setMaxListeners } from 'node:events'
import { connect, type Socket } from 'node:net'
import postgres from 'postgres'
import { arrayTypes } from '../database/array-types.ts'
import { driverUrl } from '../database/driver-url.ts'

export interface SessionOptions {
  applicationName: string
  /** For connecting and for each statement; a session that takes longer is cut. */
  answerWithinMs: number
  /** Named prepared statements, which a transaction pooler does not understand. @default true */
  prepare?: boolean
  /** Told of what the session listens to. */
  onNotify?(channel: string, text: string): void
}

/** One connection to PostgreSQL, with all that belongs to it. When it is gone it stays gone. */
export interface Session {
  /** Rejects at once when the session ends, also while waiting. */
  run<T>(query: (sql: postgres.Sql) => PromiseLike<T>): Promise<T>
  readonly closed: AbortSignal
  /** Ends it without asking the server, who then frees what the session held. */
  cut(reason: Error): void
  /** Says good-bye to the server first. */
  end(): Promise<void>
}

/**
 * postgres.js reconnects by itself, and a statement that waited would run in a session that does not hold the lock.
 * So each session brings its own socket, and there is no second one.
 */
export async function openSession(url: string, options: SessionOptions): Promise<Session> {
  const over = new AbortController()
  const closed = over.signal
  // One listener per statement under way and per lock held, all removed in time.
  setMaxListeners(0, closed)
  let socket: Socket | null = null
  let taken = false

  const driver = {
    max: 1,
    prepare: options.prepare ?? true,
    fetch_types: false,
    types: arrayTypes,
    idle_timeout: 0,
    // By default the driver closes connections after about an hour.
    max_lifetime: null,
    keep_alive: 10,
    onnotice: () => {},
    ...(options.onNotify ? { onnotify: options.onNotify } : {}),
    onclose: () => cut(new Error('The connection to PostgreSQL was closed.')),
    connection: { application_name: options.applicationName },
    socket: async ({ host, port, path }: { host: string[]; port: number[]; path?: string }) => {
      if (taken) throw new Error('The connection to PostgreSQL was closed.')
      taken = true
      // Of several hosts the first is taken: the lock belongs to the primary.
      socket = path ? connect(path) : connect(port[0] ?? 5432, host[0] ?? 'localhost')
      // By this name the driver asks for the server in TLS.
      Object.assign(socket, { host: host[0] })
      await connected(socket)
      return socket
    },
  }
  const sql = postgres(driverUrl(url), driver)

  function cut(reason: Error): void {
    if (closed.aborted) return
    over.abort(reason)
    socket?.destroy()
    // The socket is gone already; this tells the driver's own timers.
    sql.end({ timeout: 0 }).catch(() => {})
  }

  function run<T>(query: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (closed.aborted) return reject(closed.reason)
      const giveUp = () => {
        settle()
        reject(closed.reason)
      }
      closed.addEventListener('abort', giveUp, { once: true })
      const limit = setTimeout(
        () => cut(new Error(`PostgreSQL did not answer within ${options.answerWithinMs} ms.`)),
        options.answerWithinMs,
      )
      const settle = () => {
        clearTimeout(limit)
        closed.removeEventListener('abort', giveUp)
      }
      query(sql).then(
        (result) => {
          settle()
          resolve(result)
        },
        (error) => {
          settle()
          reject(error)
        },
      )
    })
  }

  try {
    await run((sql) => sql`select`)
  } catch (error) {
    cut(error instanceof Error ? error : new Error(String(error)))
    throw error
  }
  return {
    run,
    closed,
    cut,
    async end() {
      if (closed.aborted) return
      await sql.end({ timeout: 1 })
      cut(new Error('The session was ended.'))
    },
  }
}

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('The connection to PostgreSQL was closed.')))
  })
}
