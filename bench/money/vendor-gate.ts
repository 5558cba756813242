import { createServer, type IncomingMessage } from 'node:http'

/** A create as it arrived at the vendor, and what the vendor made of it. */
export interface VendorCreate {
  vendor: string
  path: string
  body: Record<string, unknown>
  /** The vendor's id of what it accepted; null if it refused. */
  id: string | null
}

export interface VendorGate {
  url: string
  /** Every create that reached the vendor, oldest first. */
  creates: readonly VendorCreate[]
  /** The ids that the vendor was asked to cancel. */
  cancels: readonly string[]
  /** From now on the replies to creates are held back. */
  hold(): void
  release(): void
  /** Whether the reply to the next create is lost. */
  loseNext(): void
  close(): Promise<void>
}

/** Stands before a simulated vendor: keeps its books, and holds back or loses its replies to creates. */
export async function startVendorGate(vendor: string, target: string): Promise<VendorGate> {
  const creates: VendorCreate[] = []
  const cancels: string[] = []
  let opened = Promise.resolve()
  let release = () => {}
  let losing = 0

  async function forward(request: IncomingMessage) {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const sent = Buffer.concat(chunks)
    const { method = 'GET', url = '/', headers } = request
    const reply = await fetch(new URL(url, target), {
      method,
      headers: {
        authorization: headers.authorization ?? '',
        'content-type': headers['content-type'] ?? 'application/json',
        'user-agent': headers['user-agent'] ?? '',
      },
      ...(method === 'POST' ? { body: sent } : {}),
    })
    const body = Buffer.from(await reply.arrayBuffer())
    const cancelled =
      /([^/]+)\/cancel$/.exec(url)?.[1] ?? (method === 'DELETE' ? url.split('/').at(-1) : null)
    if (cancelled) cancels.push(cancelled)
    if (method !== 'POST' || cancelled) return { reply, body, isLost: false }
    creates.push({ vendor, path: url, body: asRecord(parse(sent)), id: reply.ok ? idIn(parse(body)) : null })
    const isLost = losing > 0
    if (isLost) losing -= 1
    await opened
    return { reply, body, isLost }
  }

  const server = createServer((request, response) => {
    forward(request)
      .then(({ reply, body, isLost }) => {
        if (isLost) return void response.destroy()
        const retryAfter = reply.headers.get('retry-after')
        response.writeHead(reply.status, {
          'content-type': reply.headers.get('content-type') ?? 'application/json',
          ...(retryAfter ? { 'retry-after': retryAfter } : {}),
        })
        response.end(body)
      })
      // Cut off over there is cut off over here.
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The gate has no port.')

  return {
    url: `http://127.0.0.1:${address.port}`,
    creates,
    cancels,
    hold() {
      opened = new Promise((resolve) => {
        release = resolve
      })
    },
    release: () => release(),
    loseNext() {
      losing += 1
    },
    close: () =>
      new Promise((resolve) => {
        release()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return null
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** KIE puts it into an envelope, whose own code says whether it accepted. */
function idIn(reply: unknown): string | null {
  const { id, data } = asRecord(reply)
  const found = id ?? asRecord(data).taskId
  return typeof found === 'string' ? found : null
}
