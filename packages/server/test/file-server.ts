import { once } from 'node:events'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import type { FilesystemStore } from '../src/objects/filesystem-store.ts'
import type { AppEnv } from '../src/routes/app-context.ts'
import { fileRoutes } from '../src/routes/files.ts'
import { problemResponse } from '../src/routes/problem-response.ts'
import { trace } from '../src/routes/trace.ts'
import { createMemoryLog } from './memory-log.ts'

export interface FileServer {
  url: string
  app: Hono<AppEnv>
  close(): Promise<void>
}

/** The files of a store over real HTTP, without the rest of the server. */
export async function startFileServer(store: FilesystemStore): Promise<FileServer> {
  const app = new Hono<AppEnv>()
  app.onError((error, c) => problemResponse(error, c))
  app.use(trace(createMemoryLog().log))
  app.route('/', fileRoutes(store))
  const server = createServer(getRequestListener(app.fetch))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    app,
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
