import { createServer } from 'node:http'

/** The endpoint of an application: keeps what it is told, and has no time for the first thing. */
export async function startListener() {
  const heard: { id: string; event: string }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    heard.push({
      id: String(request.headers['webhook-id']),
      event: JSON.parse(Buffer.concat(chunks).toString()).type,
    })
    response.writeHead(heard.length === 1 ? 500 : 204).end()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The listener has no port.')
  return {
    url: `http://127.0.0.1:${address.port}/`,
    heard,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
