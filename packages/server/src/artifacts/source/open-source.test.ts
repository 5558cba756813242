import { createServer as createTcpServer } from 'node:net'
import { expect, test } from 'vitest'
import { MEDIA_SAMPLES, PNG } from '../../../test/media-samples.ts'
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

test('O2 a plain picture from a public host', async () => {
  const { parts } = await httpWorld((_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': PNG.length }).end(PNG)
  })
  const source = await openerOf(parts).open('https://cdn.example/a.png?sig=1#top', LIMITS)
  expect(source).toMatchObject({
    contentType: 'image/png',
    declaredBytes: PNG.length,
    finalUrl: 'https://cdn.example/a.png?sig=1',
  })
  expect(await readAll(source.body)).toEqual(PNG)
})

test('O2 a picture in chunks, from a server on loopback in development', async () => {
  const origin = await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' })
    for (const byte of PNG) response.write(Buffer.of(byte))
    response.end()
  })
  const source = await openerOf().open(`${origin}/a.png`, ON_LOOPBACK)
  expect(source).toMatchObject({ contentType: 'image/png', declaredBytes: null })
  expect(await readAll(source.body)).toEqual(PNG)
})

test.each(Object.entries(MEDIA_SAMPLES))('O2 %s under the name of octet-stream', async (type, file) => {
  const origin = await serve((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': file.length })
      .end(file)
  })
  const source = await openerOf().open(origin, ON_LOOPBACK)
  expect(source.contentType).toBe(type)
  expect(await readAll(source.body)).toEqual(file)
})

test('O2 JSON where it is expected', async () => {
  const origin = await serve((_request, response) => void response.end('{"words":[]}'))
  const opener = openerOf()
  const source = await opener.open(origin, { ...ON_LOOPBACK, expectedType: 'application/json' })
  expect(source.contentType).toBe('application/json')
  expect(String(await readAll(source.body))).toBe('{"words":[]}')
  await expect(opener.open(origin, ON_LOOPBACK)).rejects.toMatchObject({ code: 'WRONG_TYPE' })
})

test('O2 identity as a content encoding, early hints and an upper-case header are no reason to refuse', async () => {
  const server = createTcpServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n')
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: Identity\r\nCONTENT-LENGTH: ${PNG.length}\r\n\r\n`)
      socket.write(PNG)
    })
  })
  const source = await openerOf().open(`http://localhost:${await listen(server)}/`, ON_LOOPBACK)
  expect(await readAll(source.body)).toEqual(PNG)
})

test('O2 a file of exactly the largest size', async () => {
  const file = largePng(50_000)
  const origin = await serve((request, response) => {
    response.writeHead(200, request.url === '/chunked' ? {} : { 'content-length': file.length }).end(file)
  })
  const opener = openerOf()
  for (const path of ['/', '/chunked']) {
    const whole = await opener.open(origin + path, { ...ON_LOOPBACK, maxBytes: file.length })
    expect(await readAll(whole.body)).toEqual(file)
    const tooLarge = async () => {
      const source = await opener.open(origin + path, { ...ON_LOOPBACK, maxBytes: file.length - 1 })
      await readAll(source.body)
    }
    await expect(tooLarge()).rejects.toMatchObject({ code: 'TOO_LARGE' })
  }
})

test('O2 redirects within the public are followed, up to five, each with a look-up and a check of its own', async () => {
  const hops: Record<string, [status: number, location: string]> = {
    'a.example/0': [301, 'https://b.example/1?x=1'],
    'b.example/1?x=1': [302, '//c.example/2'],
    'c.example/2': [303, '/3'],
    'c.example/3': [307, '?4'],
    'c.example/3?4': [308, 'https://a.example/5'],
  }
  const { parts, lookedUp, dialled } = await httpWorld((request, response) => {
    const hop = hops[`${request.headers.host}${request.url}`]
    if (hop) response.writeHead(hop[0], { location: hop[1] }).end('moved')
    else response.writeHead(200, { 'content-length': PNG.length }).end(PNG)
  })
  const source = await openerOf(parts).open('https://a.example/0', LIMITS)
  expect(source.finalUrl).toBe('https://a.example/5')
  expect(await readAll(source.body)).toEqual(PNG)
  // The way back to a.example found its first connection still there.
  expect(lookedUp).toEqual(['a.example', 'b.example', 'c.example'])
  expect(dialled).toEqual([PUBLIC, PUBLIC, PUBLIC])
})

test('O2 http may lead to https', async () => {
  const { parts } = await httpWorld((request, response) => {
    if (request.url === '/0') response.writeHead(302, { location: 'https://b.example/1' }).end()
    else response.writeHead(200, { 'content-length': PNG.length }).end(PNG)
  })
  const source = await openerOf(parts).open('http://a.example/0', { ...LIMITS, allowHttp: true })
  expect(source.finalUrl).toBe('https://b.example/1')
  expect(await readAll(source.body)).toEqual(PNG)
})
