import { createServer, type RequestListener, type Server } from 'node:http'

/** A request that is not there by then is cut off: no body here is large. What it is answered with may take for ever. */
const SLOWEST_REQUEST = { headersTimeout: 15_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 }

/** Listens, or says in plain words why not. */
export function listen(
  listener: RequestListener,
  { host, port }: { host: string; port: number },
): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(SLOWEST_REQUEST, listener)
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
