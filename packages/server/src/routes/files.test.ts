import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FileServer, startFileServer } from '../../test/file-server.ts'
import { inChunks, MIB, madeBytes } from '../../test/made-bytes.ts'
import { createFilesystemStore, type FilesystemStore } from '../objects/filesystem-store.ts'

const minute = 60_000
let directory = ''
let server: FileServer
let store: FilesystemStore

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-files-'))
  const secret = 'the secret of these tests'
  store = createFilesystemStore({ directory, secret, baseUrl: () => server.url })
  server = await startFileServer(store)
})
afterAll(async () => {
  await server?.close()
  await rm(directory, { recursive: true, force: true })
})

async function put(key: string, bytes: Uint8Array, contentType: string): Promise<string> {
  await store.put(key, inChunks(bytes), { contentType })
  const [url = ''] = await store.signUrls([key], { expiresInMs: minute })
  return url
}

/** Which files of the store this process has open. */
async function openFiles(): Promise<string[]> {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  )
  return links.filter((path) => path.startsWith(join(directory, 'objects')))
}
const noneOpen = () => expect.poll(openFiles, { timeout: 5_000 }).toEqual([])

describe('GET /files', () => {
  it('serves the file with what a browser, a cache and a player need to know (O1)', async () => {
    const bytes = madeBytes(200_000)
    const response = await fetch(await put('a/picture.png', bytes, 'image/png'))
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': '200000',
      'accept-ranges': 'bytes',
      'cache-control': expect.stringMatching(/^private, max-age=(5\d|6\d|7\d)$/),
      'content-disposition': 'inline; filename="picture.png"',
      'content-security-policy': expect.stringMatching(/^sandbox; default-src 'none'; .*media-src 'self'/),
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
      'x-content-type-options': 'nosniff',
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    })
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
    await noneOpen()
  })

  it.each([
    ['video/mp4', 'inline'],
    ['audio/mpeg', 'inline'],
    ['image/svg+xml', 'inline'],
    ['text/html', 'attachment'],
    ['application/javascript', 'attachment'],
    ['application/pdf', 'attachment'],
    ['application/octet-stream', 'attachment'],
  ])('gives %s %s, and never as a page that may run scripts', async (contentType, disposition) => {
    const url = await put('page', Buffer.from('<script>alert(1)</script>'), contentType)
    const { headers } = await fetch(url)
    expect(headers.get('content-disposition')).toBe(`${disposition}; filename="page"`)
    expect(headers.get('content-security-policy')).toContain('sandbox')
    expect(headers.get('content-security-policy')).not.toContain('allow-scripts')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('answers HEAD the same, without the bytes', async () => {
    const url = await put('head', madeBytes(1_000), 'image/png')
    const [head, get] = await Promise.all([fetch(url, { method: 'HEAD' }), fetch(url)])
    await get.arrayBuffer()
    const without = (response: Response) =>
      [...response.headers].filter(
        ([name]) => !['date', 'x-trace-id', 'connection', 'keep-alive'].includes(name),
      )
    expect(head.status).toBe(200)
    expect(without(head)).toEqual(without(get))
    expect(await head.text()).toBe('')
    await noneOpen()
  })

  it('gives parts only of what the caller has the rest of', async () => {
    const url = await put('parts', madeBytes(1_000, 1), 'video/mp4')
    const etag = (await fetch(url, { method: 'HEAD' })).headers.get('etag') ?? ''
    const ask = (ifRange: string) =>
      fetch(url, { headers: { range: 'bytes=10-19', 'if-range': ifRange } }).then(async (response) => ({
        status: response.status,
        length: (await response.arrayBuffer()).byteLength,
      }))
    expect(await ask(etag)).toEqual({ status: 206, length: 10 })
    expect(await ask('"another"')).toEqual({ status: 200, length: 1_000 })
    expect(await ask(`W/${etag}`)).toEqual({ status: 200, length: 1_000 })
    expect(await ask('Wed, 21 Oct 2015 07:28:00 GMT')).toEqual({ status: 200, length: 1_000 })

    await store.put('parts', inChunks(madeBytes(1_000, 2)), { contentType: 'video/mp4' })
    expect(await ask(etag)).toEqual({ status: 200, length: 1_000 })
    await noneOpen()
  })

  it('says what it has when asked for what it has not', async () => {
    const url = await put('short', madeBytes(10), 'video/mp4')
    const beyond = await fetch(url, { headers: { range: 'bytes=10-' } })
    expect(beyond.status).toBe(416)
    expect(beyond.headers.get('content-range')).toBe('bytes */10')
    const empty = await put('empty', madeBytes(0), 'video/mp4')
    expect((await fetch(empty, { headers: { range: 'bytes=0-' } })).status).toBe(416)
    expect((await fetch(empty)).headers.get('content-length')).toBe('0')
    await noneOpen()
  })

  it('sends nothing to who has it already', async () => {
    const url = await put('known', madeBytes(10), 'image/png')
    const etag = (await fetch(url)).headers.get('etag') ?? ''
    const status = async (tags: string) =>
      (await fetch(url, { headers: { 'if-none-match': tags, 'cache-control': 'max-age=0' } })).status
    expect(await status(etag)).toBe(304)
    expect(await status(`"x", W/${etag}`)).toBe(304)
    expect(await status('*')).toBe(304)
    expect(await status('"x"')).toBe(200)
    // Another type is another answer, though the bytes are the same.
    await put('known', madeBytes(10), 'image/webp')
    expect(await status(etag)).toBe(200)
    await noneOpen()
  })

  it('lets any page ask, also for parts', async () => {
    const url = await put('cors', madeBytes(10), 'image/png')
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'GET' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Range')
    const { headers } = await fetch(url, { headers: { origin: 'https://app.example' } })
    expect(headers.get('access-control-expose-headers')).toContain('Content-Range')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  })

  it.each([
    ['without a signature', '/files/a'],
    ['with an empty one', '/files/a?expires=9999999999&signature='],
    ['with one too long', `/files/a?expires=9999999999&signature=${'A'.repeat(5_000)}`],
    ['with an end that is none', '/files/a?expires=never&signature=AAAA'],
    ['outside of the folder', '/files/..%2f..%2fetc%2fpasswd?expires=9999999999&signature=AAAA'],
    ['outside of it in another notation', '/files/%252e%252e/secret?expires=9999999999&signature=AAAA'],
    ['with what is no text', '/files/%ff%00?expires=9999999999&signature=AAAA'],
  ])('refuses a URL %s', async (_, path) => {
    const response = await server.app.request(path)
    expect(response.status).toBe(403)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.json()).toMatchObject({
      code: 'FORBIDDEN',
      detail: expect.stringContaining('link'),
    })
  })

  it('tells an expired link from a forged one, and a gone file from both', async () => {
    const secret = 'the secret of these tests'
    const past = createFilesystemStore({
      directory,
      secret,
      baseUrl: '',
      now: () => Date.now() - 10 * minute,
    })
    await put('there', madeBytes(10), 'image/png')
    const [expired = ''] = await past.signUrls(['there'], { expiresInMs: minute })
    const answer = await server.app.request(expired)
    expect(answer.status).toBe(403)
    expect(await answer.json()).toMatchObject({
      code: 'FORBIDDEN',
      detail: expect.stringContaining('expired'),
    })

    const url = await put('gone', madeBytes(10), 'image/png')
    await store.delete(['gone'])
    const gone = await fetch(url)
    expect(gone.status).toBe(404)
    expect(gone.headers.get('cache-control')).toBe('no-store')
    expect(await gone.json()).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('takes nothing but GET and HEAD', async () => {
    const url = await put('safe', madeBytes(10), 'image/png')
    for (const method of ['PUT', 'POST', 'DELETE', 'PATCH'])
      expect((await fetch(url, { method })).status).toBe(404)
    expect(await store.head('safe')).toEqual({ bytes: 10, contentType: 'image/png' })
  })

  it('works under a path of its own', async () => {
    const { Hono } = await import('hono')
    const outer = new Hono().route('/holdfast', server.app)
    const url = new URL(await put('deep/er', madeBytes(10), 'image/png'))
    const response = await outer.request(`/holdfast${url.pathname}${url.search}`)
    expect(response.status).toBe(200)
    expect((await response.arrayBuffer()).byteLength).toBe(10)
  })
})

describe('GET /files, when the caller is slow or leaves', () => {
  it('reads no more than is taken, and closes the file when the caller is gone', async () => {
    const whole = 64 * MIB
    const signed = new URL(await put('large', madeBytes(whole), 'video/mp4'))
    const read: number[] = []
    const counting = await startFileServer({
      ...store,
      async open(key) {
        const object = await store.open(key)
        const mine = read.push(0) - 1
        const count = new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            read[mine] = (read[mine] ?? 0) + chunk.byteLength
            controller.enqueue(chunk)
          },
        })
        return object && { ...object, stream: (start, end) => object.stream(start, end).pipeThrough(count) }
      },
    })
    const url = new URL(`${signed.pathname}${signed.search}`, counting.url)
    const slow = connect(Number(url.port), '127.0.0.1')
    slow.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`)
    await new Promise((some) => slow.once('data', some))
    slow.pause()
    // Another caller gets all of it meanwhile.
    expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(whole)
    expect(read[1]).toBe(whole)
    // What the sockets hold, on both sides, is some megabytes.
    expect(read[0]).toBeLessThan(whole / 2)
    expect(await openFiles()).toHaveLength(1)
    slow.destroy()
    await noneOpen()
    await counting.close()
  })

  it('leaves no file open, whenever the caller leaves', async () => {
    const url = await put('left', madeBytes(3 * MIB), 'video/mp4')
    for (let round = 0; round < 40; round++) {
      const leaving = new AbortController()
      const reading = fetch(url, { signal: leaving.signal }).then((response) => response.arrayBuffer())
      setTimeout(() => leaving.abort(), round / 4)
      await reading.catch(() => {})
    }
    await noneOpen()
  })

  it('goes on with the old file for who has begun to read it', async () => {
    const old = madeBytes(8 * MIB, 1)
    const response = await fetch(await put('replaced', old, 'video/mp4'))
    const reader = response.body?.getReader()
    const chunks = [(await reader?.read())?.value ?? new Uint8Array()]
    await put('replaced', madeBytes(100, 2), 'video/mp4')
    await store.delete(['replaced'])
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
      chunks.push(next.value)
    expect(Buffer.concat(chunks).equals(old)).toBe(true)
    await noneOpen()
  })
})
