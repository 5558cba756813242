import { readFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }

export interface Site {
  url: string
  calls(): number
  close(): void
}

/** The pages and the API at one address, counting what is asked of the API, which is so many milliseconds away. */
export async function servePages(folder: string, api: RequestListener, roundTripMs: number): Promise<Site> {
  let calls = 0
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname.startsWith('/v1/')) {
      calls += 1
      setTimeout(() => api(request, response), roundTripMs)
      return
    }
    try {
      const file = await readFile(join(folder, normalize(pathname)))
      // As a careful app does: what has its hash in its name may be kept.
      const kept = pathname.startsWith('/assets/') ? 'max-age=31536000, immutable' : 'no-cache'
      response.setHeader('Cache-Control', kept)
      response.setHeader('Content-Type', TYPES[extname(pathname)] ?? 'application/octet-stream')
      response.end(file)
    } catch {
      response.writeHead(404).end()
    }
  })
  // Longer than a turn of all contenders takes: none of them is to meet a cold connection more often than another.
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () => calls,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
