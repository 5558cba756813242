import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pictureChunks } from '../mirror/picture-chunks.ts'
import { VENDOR_MS } from './settings.ts'

export interface VendorEvents {
  onCreate?(prompt: string): void
  /** Called before the answer goes out. */
  onQuery?(prompt: string, isDone: boolean): void
  onFile?(prompt: string): void
}

/** About what a small picture has. */
const FILE_BYTES = 16 * 1024

/**
 * A vendor over HTTP: `POST /jobs` begins a generation, `GET /jobs/:id` says how it stands, `GET /files/:id.png` is the
 * result. It never fails and never limits.
 */
export async function startVendor(events: VendorEvents = {}) {
  const jobs = new Map<string, { prompt: string; doneAt: number }>()
  const picture = Buffer.concat([...pictureChunks(FILE_BYTES)])
  // Databases outlive a vendor: no other one gives the same ids.
  const series = randomUUID().slice(0, 8)
  let url = ''
  let count = 0

  const server = createServer((request, response) => {
    const json = (status: number, body: unknown) => {
      const text = JSON.stringify(body)
      response.writeHead(status, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      })
      response.end(text)
    }
    if (request.method === 'POST') {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { prompt } = JSON.parse(Buffer.concat(chunks).toString()) as { prompt: string }
        events.onCreate?.(prompt)
        count += 1
        const id = `job-${series}-${count}`
        // Spread evenly, and the same for every contender.
        const spread = ((count * 7) % 100) / 100
        const tookMs = VENDOR_MS.from + spread * (VENDOR_MS.to - VENDOR_MS.from)
        jobs.set(id, { prompt, doneAt: performance.now() + tookMs })
        json(200, { id, state: 'running', percent: 0, files: [] })
      })
      return
    }
    const [, folder, name = ''] = (request.url ?? '').split('/')
    const id = name.replace('.png', '')
    const job = jobs.get(id)
    if (!job) return json(404, { error: 'There is no such job.' })
    if (folder === 'files') {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': picture.length })
      response.end(picture)
      events.onFile?.(job.prompt)
      return
    }
    const isDone = performance.now() >= job.doneAt
    events.onQuery?.(job.prompt, isDone)
    json(200, {
      id,
      state: isDone ? 'done' : 'running',
      percent: isDone ? 100 : null,
      files: isDone ? [`${url}/files/${id}.png`] : [],
    })
  })
  // Contenders keep their connections for longer than the five seconds of Node's default.
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
