import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import {
  createSourceOpener,
  type SourceOpener,
  type SourceOpenerParts,
  type SourceOptions,
} from '../src/artifacts/source/open-source.ts'
import { PNG } from './media-samples.ts'

export const LIMITS: SourceOptions = { maxBytes: 100_000_000, timeoutMs: 10_000 }
export const ON_LOOPBACK: SourceOptions = { ...LIMITS, allowLoopback: true }

/** One that is closed with the test. */
export function openerOf(parts: SourceOpenerParts = {}): SourceOpener {
  const opener = createSourceOpener(parts)
  onTestFinished(() => opener.close())
  return opener
}

/** Its port on loopback; it ends with the test. */
export async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((done) => server.close(done))
  })
  return (server.address() as AddressInfo).port
}

/** The origin of an HTTP server on loopback. */
export const serve = async (listener: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await listen(createServer(listener))}`

export async function readAll(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Bytes that no two places have in common, so that a lost or doubled chunk shows. */
export function largePng(bytes: number): Buffer {
  const file = Buffer.alloc(bytes)
  for (let at = 0; at + 4 <= bytes; at += 4) file.writeUInt32LE(at, at)
  PNG.copy(file)
  return file
}
