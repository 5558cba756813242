import { createHash } from 'node:crypto'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { PNG } from '../../../test/media-samples.ts'
import { selfSigned } from '../../../test/self-signed.ts'
import { httpWorld } from '../../../test/source-attempt.ts'
import {
  LIMITS,
  largePng,
  listen,
  ON_LOOPBACK,
  openerOf,
  readAll,
  serve,
} from '../../../test/source-servers.ts'
import { PUBLIC } from '../../../test/source-world.ts'
import type { SourceOpenerParts } from './open-source.ts'

/** A busy machine may take its time. */
const patiently = { timeout: 15_000 }

test('O2 files from one origin share their connections', async () => {
  const { parts, lookedUp, sockets } = await httpWorld((_request, response) => {
    response.writeHead(200, { 'content-length': PNG.length }).end(PNG)
  })
  const opener = openerOf(parts)
  for (let files = 0; files < 5; files++) {
    await readAll((await opener.open('https://cdn.example/', LIMITS)).body)
  }
  expect([lookedUp.length, sockets.length]).toEqual([1, 1])
  const together = await Promise.all(
    Array.from({ length: 3 }, () => opener.open('https://cdn.example/', LIMITS)),
  )
  for (const source of together) await readAll(source.body)
  expect(sockets.length).toBe(3)
  await readAll((await opener.open('https://other.example/', LIMITS)).body)
  expect(sockets.length).toBe(4)
})

test('S3 a connection that was made where loopback is allowed is not used where it is not', async () => {
  const { parts, names, dialled } = await httpWorld((_request, response) => {
    response.writeHead(200, { 'content-length': PNG.length }).end(PNG)
  })
  names.set('dev.example', [['127.0.0.1']])
  const opener = openerOf(parts)
  await readAll((await opener.open('https://dev.example/', ON_LOOPBACK)).body)
  await expect(opener.open('https://dev.example/', LIMITS)).rejects.toMatchObject({
    code: 'FORBIDDEN_ADDRESS',
  })
  expect(dialled).toEqual(['127.0.0.1'])
})

test('O2 a kept connection that turns out to be dead costs nothing but a new one', async () => {
  const server = createTcpServer((socket) => {
    let asked = 0
    socket.on('data', () => {
      if (asked++ > 0) return socket.resetAndDestroy()
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${PNG.length}\r\n\r\n`)
      socket.write(PNG)
    })
  })
  const origin = `http://127.0.0.1:${await listen(server)}`
  const opener = openerOf()
  for (let files = 0; files < 3; files++) {
    expect(await readAll((await opener.open(origin, ON_LOOPBACK)).body)).toEqual(PNG)
  }
})

test('O2 a large file comes through whole, and waits for a slow reader outside of our memory', async () => {
  const file = largePng(64_000_000)
  let written = 0
  const origin = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': file.length })
    const more = () => {
      while (written < file.length) {
        const next = file.subarray(written, written + 100_000)
        written += next.length
        if (!response.write(next)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  })
  const { body } = await openerOf().open(origin, ON_LOOPBACK)
  const hash = createHash('sha256')
  let received = 0
  let furthest = 0
  for await (const chunk of body) {
    hash.update(chunk)
    received += chunk.length
    // Let everything happen that can: with no backpressure the server would be done long before the reader.
    if (received < 4_000_000) for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    furthest = Math.max(furthest, written - received)
  }
  expect([received, hash.digest('hex')]).toEqual([
    file.length,
    createHash('sha256').update(file).digest('hex'),
  ])
  // What the system's socket buffers hold, and ours.
  expect(furthest).toBeLessThan(20_000_000)
})

test('O2 leaving a body closes its connection', async () => {
  const { parts, sockets } = await httpWorld((_request, response) => {
    response.writeHead(200, { 'content-length': 10_000_000 })
    response.write(largePng(1_000_000))
  })
  const { body } = await openerOf(parts).open('https://cdn.example/', LIMITS)
  for await (const _ of body) break
  await expect.poll(() => sockets[0]?.destroyed, patiently).toBe(true)
})

test('O2 a body that nobody reads is given up at the time limit', async () => {
  const { parts, sockets } = await httpWorld((_request, response) => {
    response.writeHead(200, { 'content-length': 10_000_000 })
    response.write(largePng(1_000_000))
  })
  const { body } = await openerOf(parts).open('https://cdn.example/', { ...LIMITS, timeoutMs: 1_500 })
  await expect.poll(() => sockets[0]?.destroyed, patiently).toBe(true)
  await expect(readAll(body)).rejects.toMatchObject({ code: 'TIMEOUT' })
})

test('O2 the caller can stop it: before, while it waits, and in the middle', async () => {
  const { parts, sockets } = await httpWorld((request, response) => {
    if (request.url === '/silent') return
    response.writeHead(200, { 'content-length': 10_000_000 })
    response.write(largePng(1_000_000))
  })
  const opener = openerOf(parts)
  const cut = { code: 'CUT', retryable: true }
  await expect(
    opener.open('https://cdn.example/', { ...LIMITS, signal: AbortSignal.abort() }),
  ).rejects.toMatchObject(cut)
  expect(sockets).toEqual([])

  const waiting = new AbortController()
  const silent = opener.open('https://cdn.example/silent', { ...LIMITS, signal: waiting.signal })
  await expect.poll(() => sockets.length, patiently).toBe(1)
  waiting.abort()
  await expect(silent).rejects.toMatchObject(cut)

  const reading = new AbortController()
  const { body } = await opener.open('https://cdn.example/', { ...LIMITS, signal: reading.signal })
  reading.abort()
  await expect(readAll(body)).rejects.toMatchObject(cut)
  await expect.poll(() => sockets.map((socket) => socket.destroyed), patiently).toEqual([true, true])
})

test('O2 closing ends what is under way and what was kept, and nothing begins after it', async () => {
  const { parts, sockets } = await httpWorld((request, response) => {
    if (request.url === '/short')
      return void response.writeHead(200, { 'content-length': PNG.length }).end(PNG)
    response.writeHead(200, { 'content-length': 10_000_000 })
    response.write(largePng(1_000_000))
  })
  const opener = openerOf(parts)
  const [short, long] = await Promise.all([
    opener.open('https://cdn.example/short', LIMITS),
    opener.open('https://cdn.example/long', LIMITS),
  ])
  await readAll(short.body)
  await opener.close()
  await opener.close()
  await expect(readAll(long.body)).rejects.toMatchObject({ code: 'CUT' })
  expect(sockets.map((socket) => socket.destroyed)).toEqual([true, true])
  await expect(opener.open('https://cdn.example/short', LIMITS)).rejects.toMatchObject({ code: 'CUT' })
})

test('O2 closing while a name is looked up: nothing is dialled', async () => {
  const { parts, dialled } = await httpWorld(() => undefined)
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<LookupAddress[]>()
  const lookup = () => {
    asked.resolve()
    return answered.promise
  }
  const opener = openerOf({ ...parts, lookup })
  const opening = opener.open('https://cdn.example/', LIMITS)
  await asked.promise
  await opener.close()
  answered.resolve([{ address: PUBLIC, family: 4 }])
  await expect(opening).rejects.toMatchObject({ code: 'CUT' })
  expect(dialled).toEqual([])
})

test('O2 a file that has arrived leaves no clock running, nor one that was refused', async () => {
  const origin = await serve((request, response) => {
    const body = request.url === '/text' ? 'text' : PNG
    response.writeHead(200, { 'content-length': body.length }).end(body)
  })
  const opener = openerOf()
  const options = { ...ON_LOOPBACK, timeoutMs: 3_600_000 }
  for (let files = 0; files < 50; files++) {
    await readAll((await opener.open(origin, options)).body)
    await expect(opener.open(`${origin}/text`, options)).rejects.toMatchObject({ code: 'WRONG_TYPE' })
  }
  const clocks = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout')
  expect(clocks.length).toBeLessThan(50)
})

test('O2 a port where nobody listens', async () => {
  const server = createTcpServer()
  const port = await listen(server)
  server.close()
  await once(server, 'close')
  await expect(openerOf().open(`http://127.0.0.1:${port}/`, ON_LOOPBACK)).rejects.toMatchObject({
    code: 'CONNECT',
    retryable: true,
  })
})

test('S3 https: the name is checked against the certificate, though the connection goes to a pinned address', async () => {
  const { cert, key } = selfSigned('cdn.example')
  const port = await listen(
    createTlsServer({ cert, key }, (request, response) => {
      response.writeHead(200, { 'content-length': PNG.length, 'x-host': request.headers.host }).end(PNG)
    }),
  )
  // No resolver knows these names, so the connection can only have gone where this sends it.
  const parts: SourceOpenerParts = { lookup: async () => [{ address: '127.0.0.1', family: 4 }] }
  const open = (host: string) => openerOf(parts).open(`https://${host}:${port}/`, ON_LOOPBACK)
  await expect(open('cdn.example')).rejects.toMatchObject({
    code: 'CONNECT',
    cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
  })

  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, cert])
  onTestFinished(() => setDefaultCACertificates(trusted))
  const source = await open('cdn.example')
  expect(await readAll(source.body)).toEqual(PNG)
  await expect(open('other.example')).rejects.toMatchObject({
    code: 'CONNECT',
    cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  })
})

test('S3 https to a host that speaks no TLS', async () => {
  const port = await listen(createServer((_request, response) => void response.end(PNG)))
  await expect(openerOf().open(`https://127.0.0.1:${port}/`, ON_LOOPBACK)).rejects.toMatchObject({
    code: 'CONNECT',
  })
})
