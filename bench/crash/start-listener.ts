import { createServer } from 'node:http'

/** How the application takes what it is told: not the first time, only once it is let, or not at all until then. */
export type Told = 'again' | 'late' | 'never'

/** The endpoint of an application, which keeps what it is told. */
export async function startListener(told: Told) {
  const heard: { id: string; event: string }[] = []
  let isListening = false
  const listens = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    heard.push({
      id: String(request.headers['webhook-id']),
      event: JSON.parse(Buffer.concat(chunks).toString()).type,
    })
    const isFirst = heard.length === 1
    if (told === 'late') await listens.promise
    response.writeHead((told === 'never' && !isListening) || (told === 'again' && isFirst) ? 500 : 204).end()
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
    /** Takes what it is told from now on. */
    listen(): void {
      isListening = true
      listens.resolve()
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
