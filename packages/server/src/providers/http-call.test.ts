import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createHttpCall, type HttpRequest, openPool } from './http-call.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

async function listen(server: Server | TcpServer): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  cleanups.push(
    () =>
      new Promise((done) => {
        server.close(done)
        if ('closeAllConnections' in server) server.closeAllConnections()
      }),
  )
  return (server.address() as AddressInfo).port
}

function callTo(origin: string, options: { reuse?: boolean; maxReplyBytes?: number } = {}) {
  const dispatcher = openPool(origin, { reuse: options.reuse ?? true, connections: 1 })
  cleanups.push(() => dispatcher.destroy())
  return createHttpCall({ dispatcher, maxReplyBytes: options.maxReplyBytes })
}

async function callToServer(listener: RequestListener, options = {}) {
  const port = await listen(createServer(listener))
  return callTo(`http://127.0.0.1:${port}`, options)
}

/** A busy machine may take its time. */
const patiently = { timeout: 15_000 }

const post: HttpRequest = {
  method: 'POST',
  path: '/things?x=1',
  headers: { authorization: 'Bearer secret-key', 'content-type': 'application/json' },
  body: '{"a":1}',
  timeoutMs: 5_000,
}

test('F8 a whole reply comes back with status, headers and text', async () => {
  const seen: string[] = []
  const call = await callToServer((request, response) => {
    request.on('data', (chunk) => seen.push(`${request.method} ${request.url} ${chunk}`))
    request.on('end', () => response.writeHead(418, { 'X-Thing': 'yes' }).end('grüße'))
  })
  expect(await call(post)).toMatchObject({
    kind: 'reply',
    status: 418,
    headers: { 'x-thing': 'yes' },
    body: 'grüße',
  })
  expect(seen).toEqual(['POST /things?x=1 {"a":1}'])
})

test('F8 a closed port: certainly not sent', async () => {
  const server = createTcpServer()
  const port = await listen(server)
  await new Promise((done) => server.close(done))
  const outcome = await callTo(`http://127.0.0.1:${port}`)(post)
  expect(outcome).toEqual({ kind: 'not-sent', reason: 'no connection (ECONNREFUSED)' })
})

test('F8 an unknown host: certainly not sent', async () => {
  const outcome = await callTo('http://does-not-exist.invalid')(post)
  expect(outcome.kind).toBe('not-sent')
})

test('F8 a TLS handshake that is reset: certainly not sent', async () => {
  const server = createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
  const port = await listen(server)
  const outcome = await callTo(`https://127.0.0.1:${port}`)(post)
  expect(outcome).toEqual({ kind: 'not-sent', reason: 'no connection (ECONNRESET)' })
})

test('F8 a server that reads and closes: cut, and it saw the request once', async () => {
  let requests = 0
  const call = await callToServer((request) => {
    requests++
    request.resume().on('end', () => request.socket.destroy())
  })
  expect(await call(post)).toMatchObject({ kind: 'cut' })
  expect(requests).toBe(1)
})

test('F8 a server that accepts and closes without reading: cut', async () => {
  const server = createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
  const port = await listen(server)
  expect(await callTo(`http://127.0.0.1:${port}`)(post)).toMatchObject({ kind: 'cut' })
})

test('F8 a server that never answers: cut at the time limit', async () => {
  const call = await callToServer(() => undefined)
  expect(await call({ ...post, timeoutMs: 1_000 })).toEqual({
    kind: 'cut',
    reason: 'no whole reply within 1000 ms',
  })
})

test('F8 a reply that breaks off half-way: cut', async () => {
  const call = await callToServer((_request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('{"code":', () => response.destroy())
  })
  expect(await call(post)).toMatchObject({ kind: 'cut' })
})

test('F8 a reply beyond the size limit: cut', async () => {
  const call = await callToServer((_request, response) => void response.end('x'.repeat(2_000)), {
    maxReplyBytes: 1_000,
  })
  expect(await call(post)).toEqual({ kind: 'cut', reason: 'the reply is larger than 1000 bytes' })
})

test('F8 stopping after the request was read: cut', async () => {
  const stop = new AbortController()
  const call = await callToServer(() => stop.abort())
  expect(await call({ ...post, signal: stop.signal })).toEqual({
    kind: 'cut',
    reason: 'the call was stopped',
  })
})

test('F8 stopping before anything was sent: not sent, and it never is', async () => {
  let requests = 0
  const call = await callToServer((_request, response) => {
    requests++
    response.end('ok')
  })
  const stopped = await call({ ...post, signal: AbortSignal.abort() })
  expect(stopped).toEqual({ kind: 'not-sent', reason: 'the call was stopped' })

  const stop = new AbortController()
  const stoppedWhileConnecting = call({ ...post, signal: stop.signal })
  stop.abort()
  expect(await stoppedWhileConnecting).toMatchObject({ kind: 'not-sent' })
  expect(await call(post)).toMatchObject({ kind: 'reply' })
  expect(requests).toBe(1)
})

test('F8 a time limit reached while another call holds the connection: not sent, and it never is', async () => {
  const paths: (string | undefined)[] = []
  let answer = () => {}
  const call = await callToServer((request, response) => {
    paths.push(request.url)
    answer = () => response.end('ok')
  })
  const first = call({ ...post, path: '/first' })
  expect(await call({ ...post, path: '/second', timeoutMs: 50 })).toMatchObject({ kind: 'not-sent' })
  answer()
  expect(await first).toMatchObject({ kind: 'reply' })
  const third = call({ ...post, path: '/third' })
  await expect.poll(() => paths, patiently).toContain('/third')
  answer()
  await third
  expect(paths).toEqual(['/first', '/third'])
})

test('F8 a kept-alive connection that dies under a POST: cut, never sent a second time', async () => {
  const bodies: string[] = []
  const server = createTcpServer((socket) => {
    let answered = false
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      bodies.push(String(data))
      if (answered) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok')
      answered = true
    })
  })
  const port = await listen(server)
  const call = callTo(`http://127.0.0.1:${port}`)
  expect(await call(post)).toMatchObject({ kind: 'reply' })
  expect(await call(post)).toMatchObject({ kind: 'cut' })
  expect(bodies).toHaveLength(2)
})

test('F8 without reuse each call has a connection of its own', async () => {
  const ports = new Set<number | undefined>()
  const listener: RequestListener = (request, response) => {
    ports.add(request.socket.remotePort)
    response.end('ok')
  }
  const fresh = await callToServer(listener, { reuse: false })
  for (let calls = 0; calls < 3; calls++) await fresh(post)
  expect(ports.size).toBe(3)

  ports.clear()
  const reused = await callToServer(listener)
  for (let calls = 0; calls < 3; calls++) await reused(post)
  expect(ports.size).toBe(1)
})

test('F8 after the pool was closed: not sent', async () => {
  const dispatcher = openPool('http://127.0.0.1:9', { reuse: true, connections: 1 })
  await dispatcher.close()
  expect(await createHttpCall({ dispatcher })(post)).toMatchObject({ kind: 'not-sent' })
})

test('S3 no failure quotes a header', async () => {
  const call = callTo('http://127.0.0.1:9')
  for (const authorization of ['Bearer secret-key', 'Bearer secret-key\r\nx: y']) {
    const outcome = await call({ ...post, headers: { authorization } })
    expect(outcome.kind).toBe('not-sent')
    expect(JSON.stringify(outcome)).not.toContain('secret-key')
  }
})
