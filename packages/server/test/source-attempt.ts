import { createServer, type RequestListener } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { createSourceOpener, type SourceOptions } from '../src/artifacts/source/open-source.ts'
import { SourceError } from '../src/artifacts/source/source-error.ts'
import { PNG } from './media-samples.ts'
import { createSourceWorld, type SourceWorld } from './source-world.ts'

export const TIGHT_LIMITS: SourceOptions = { maxBytes: 1_000_000, timeoutMs: 10_000 }

/** What came of a source: how it was refused, how much of it was handed on before, and where we went for it. */
export async function attempt(
  world: SourceWorld,
  url: string,
  options: Partial<SourceOptions> = {},
  idleMs?: number,
) {
  const opener = createSourceOpener({ ...world.parts, ...(idleMs === undefined ? {} : { idleMs }) })
  onTestFinished(() => opener.close())
  let opened = false
  let delivered = 0
  try {
    const source = await opener.open(url, { ...TIGHT_LIMITS, ...options })
    opened = true
    for await (const chunk of source.body) delivered += chunk.length
    return { code: 'none', opened, delivered, retryable: null }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return { code: error.code, opened, delivered, retryable: error.retryable }
  }
}

export async function httpWorld(listener: RequestListener): Promise<SourceWorld> {
  const world = await createSourceWorld(createServer(listener))
  onTestFinished(world.close)
  return world
}

export async function tcpWorld(listener: (socket: Socket) => void): Promise<SourceWorld> {
  const world = await createSourceWorld(createTcpServer(listener))
  onTestFinished(world.close)
  return world
}

/** A host that writes these bytes to whoever asks, and then keeps silent, or closes. */
export function rawWorld(answer: (string | Buffer)[], end?: 'close'): Promise<SourceWorld> {
  return tcpWorld((socket) => {
    socket.once('data', () => {
      socket.write(Buffer.concat(answer.map((part) => Buffer.from(part as string))), () => {
        if (end === 'close') socket.end()
      })
    })
  })
}

export function redirectingWorld(targets: Record<string, string | undefined>): Promise<SourceWorld> {
  return httpWorld((request, response) => {
    const location = targets[`${request.headers.host}${request.url}`]
    if (location === undefined) response.writeHead(200, { 'content-type': 'image/png' }).end(PNG)
    else response.writeHead(302, location === '' ? {} : { location }).end()
  })
}

export const PNG_HEAD = `HTTP/1.1 200 OK\r\ncontent-type: image/png\r\n`
