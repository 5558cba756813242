import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makePicture } from './make-picture.ts'

type Answer = (request: IncomingMessage, response: ServerResponse, nth: number) => unknown

export interface SourceServer {
  url: string
  /** Paths that were asked for, in their order. */
  asked: string[]
  /** The most that were being answered at a time. */
  mostAtOnce(): number
  /** A picture to be had at the URL that is returned, or whatever `answer` does; `nth` counts from 1. */
  offer(name: string, answer?: Uint8Array | Answer): string
  close(): Promise<void>
}

/** A provider's file host on loopback. */
export async function startSourceServer(): Promise<SourceServer> {
  const files = new Map<string, Answer>()
  const asked: string[] = []
  let underWay = 0
  let most = 0
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    most = Math.max(most, ++underWay)
    response.once('close', () => underWay--)
    const answer = files.get(path)
    if (!answer) return response.writeHead(404).end()
    answer(request, response, asked.filter((each) => each === path).length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    asked,
    mostAtOnce: () => most,
    offer(name, answer = makePicture()) {
      const path = `/${name}`
      files.set(path, typeof answer === 'function' ? answer : (_, response) => sendPicture(response, answer))
      return url + path
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function sendPicture(response: ServerResponse, bytes: Uint8Array): void {
  response.writeHead(200, { 'content-type': 'image/png', 'content-length': bytes.length }).end(bytes)
}
