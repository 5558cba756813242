import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pictureChunks } from '../mirror/picture-chunks.ts'

export interface DyingSource {
  url: string
  /** From now on the files die, each after its time. */
  begin(): void
  close(): Promise<void>
}

/** A provider's file host whose links stop working one by one: `GET /INDEX.png` answers 403 after its time. */
export async function startDyingSource(lifetimesMs: readonly number[]): Promise<DyingSource> {
  const [picture = Buffer.alloc(0)] = pictureChunks(50_000)
  let began = performance.now()
  const server = createServer((request, response) => {
    const lifetime = lifetimesMs[Number.parseInt(request.url?.slice(1) ?? '', 10)] ?? 0
    if (performance.now() - began > lifetime) return response.writeHead(403).end()
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': picture.length }).end(picture)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begin() {
      began = performance.now()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
