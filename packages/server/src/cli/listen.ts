import { createServer, type RequestListener, type Server } from 'node:http'

/** Listens, or says in plain words why not. */
export function listen(
  listener: RequestListener,
  { host, port }: { host: string; port: number },
): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(listener)
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new Error(portInUse(port), { cause: error }) : error)
    })
    server.listen(port, host, () => resolve(server))
  })
}

function portInUse(port: number): string {
  return `Port ${port} is in use. Is Holdfast running already? Stop it, or choose another port with --port or PORT.`
}

/** Ends streams and idle connections too, so that it resolves soon. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
    // What is still answering gets a moment; keep-alive sockets without a request would hold us for ever.
    setTimeout(() => server.closeAllConnections(), 1_000).unref()
  })
}
