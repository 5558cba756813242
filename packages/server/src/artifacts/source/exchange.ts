import type { Dispatcher } from 'undici'
import { type ByteQueue, createByteQueue } from './byte-queue.ts'
import type { Target } from './check-url.ts'
import type { Connection, Connections } from './connections.ts'
import { explainFailure } from './explain-failure.ts'
import { SourceError } from './source-error.ts'

export interface Reply {
  status: number
  /** Null if absent; several of the same name are joined by commas. */
  header(name: string): string | null
  body: ByteQueue
}

export interface ExchangeOptions {
  connections: Connections
  headers: Record<string, string>
  /** Longest silence, before the answer and within it. */
  idleMs: number
  maxBytes: number
  signal: AbortSignal
}

/**
 * One GET over one connection. Resolves when the headers are in; the body comes through its queue, and whatever breaks
 * on the way breaks the queue. The connection goes back to the others after a whole answer and is closed after any other.
 */
export function exchange(connection: Connection, target: Target, options: ExchangeOptions): Promise<Reply> {
  const { connections, headers, idleMs, maxBytes, signal } = options
  return new Promise((resolve, reject) => {
    let control: Dispatcher.DispatchController | undefined
    let body: ByteQueue | undefined
    let declared = false
    let received = 0
    let over = false

    const settle = () => {
      over = true
      signal.removeEventListener('abort', stop)
    }
    const fail = (error: SourceError) => {
      if (over) return
      settle()
      connections.drop(connection)
      if (body) body.fail(error)
      else reject(error)
    }
    const stop = () => fail(signal.reason)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        control = controller
      },
      onResponseStart(_controller, status, incoming) {
        // 1xx: the answer itself is still to come.
        if (status < 200 || over) return
        body = createByteQueue({
          onRoom: () => control?.resume(),
          onAbandon: () => {
            settle()
            connections.drop(connection)
          },
        })
        const header = (name: string) => {
          const value = incoming[name]
          return value === undefined ? null : String(value)
        }
        declared = header('content-length') !== null
        resolve({ status, header, body })
      },
      onResponseData(controller, chunk) {
        received += chunk.length
        if (received > maxBytes) fail(tooLarge(maxBytes))
        else if (body?.push(chunk) === false) controller.pause()
      },
      onResponseEnd() {
        // A turn later undici has seen what else was in the same packet, and has closed the connection if it was anything.
        setImmediate(() => {
          if (over) return
          if (saidTooMuch(connection)) {
            return fail(
              new SourceError('LENGTH_MISMATCH', 'The source sent more bytes than it had announced.'),
            )
          }
          settle()
          connections.giveBack(connection, target)
          body?.end()
        })
      },
      onResponseError(_controller, error) {
        fail(explainFailure(error, { host: target.url.hostname, connected: control !== undefined, declared }))
      },
    }

    try {
      connection.client.dispatch(
        {
          method: 'GET',
          path: target.url.pathname + target.url.search,
          headers,
          headersTimeout: idleMs,
          bodyTimeout: idleMs,
        },
        handler,
      )
    } catch (cause) {
      fail(new SourceError('BAD_URL', 'The source cannot be asked for with these headers.', { cause }))
    }
  })
}

export function tooLarge(maxBytes: number): SourceError {
  return new SourceError('TOO_LARGE', `The file is larger than ${maxBytes} bytes.`)
}

/**
 * Whether bytes came that nobody had asked for, on a connection that was to be kept. On one that the other side closes
 * they are never read, and the announced length stands.
 */
function saidTooMuch({ socket }: Connection): boolean {
  const error = socket?.errored
  if (!error) return false
  return error.message === 'bad response' || ('code' in error && String(error.code).startsWith('HPE_'))
}
