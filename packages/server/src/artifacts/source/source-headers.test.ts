import type { IncomingMessage } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { expect, test } from 'vitest'
import { PNG } from '../../../test/media-samples.ts'
import { httpWorld } from '../../../test/source-attempt.ts'
import { LIMITS, listen, ON_LOOPBACK, openerOf, readAll } from '../../../test/source-servers.ts'

test("S3 a provider's key goes to its own origin, and not even back there after a detour", async () => {
  const seen: [string, string | undefined][] = []
  const hops: Record<string, string> = {
    'a.example/0': '/1',
    'a.example/1': 'https://b.example/2',
    'b.example/2': 'https://a.example/3',
  }
  const { parts } = await httpWorld((request, response) => {
    const place = `${request.headers.host}${request.url}`
    seen.push([place, request.headers.authorization])
    const location = hops[place]
    if (location) response.writeHead(302, { location, 'set-cookie': 'a=b' }).end()
    else response.writeHead(200, { 'content-length': PNG.length }).end(PNG)
  })
  const headers = { Authorization: 'Bearer SECRET' }
  const source = await openerOf(parts).open('https://a.example/0', { ...LIMITS, headers })
  await readAll(source.body)
  expect(seen).toEqual([
    ['a.example/0', 'Bearer SECRET'],
    ['a.example/1', 'Bearer SECRET'],
    ['b.example/2', undefined],
    ['a.example/3', undefined],
  ])
})

test.each([
  ['another port', 'https://a.example:8443/'],
  ['a host below it', 'https://x.a.example/'],
  ['the same host in https', 'https://a.example/'],
])('S3 %s is another origin', async (_name, location) => {
  const keys: (string | undefined)[] = []
  const { parts } = await httpWorld((request, response) => {
    keys.push(request.headers.authorization)
    if (keys.length === 1) response.writeHead(302, { location }).end()
    else response.writeHead(200, { 'content-length': PNG.length }).end(PNG)
  })
  const scheme = location === 'https://a.example/' ? 'http' : 'https'
  await openerOf(parts).open(`${scheme}://a.example/0`, {
    ...LIMITS,
    allowHttp: true,
    headers: { authorization: 'SECRET' },
  })
  expect(keys).toEqual(['SECRET', undefined])
})

test('S3 what is sent: who we are, no cookies, and no wish for compression', async () => {
  let seen: IncomingMessage['headers'] = {}
  const { parts } = await httpWorld((request, response) => {
    seen = request.headers
    response.writeHead(200, { 'content-length': PNG.length }).end(PNG)
  })
  const headers = {
    'X-Key': 'k',
    'Accept-Encoding': 'gzip',
    Host: 'inside',
    Cookie: 'a=b',
    Range: 'bytes=0-',
  }
  await openerOf(parts).open('https://cdn.example/', { ...LIMITS, headers })
  expect(seen).toEqual({
    host: 'cdn.example',
    connection: 'keep-alive',
    accept: '*/*',
    'accept-encoding': 'identity',
    'user-agent': expect.stringMatching(/^Holdfast\//),
    'x-key': 'k',
  })
})

test('S3 no failure tells of the URL, the key or an address', async () => {
  const port = await listen(createTcpServer((socket) => socket.destroy()))
  const { parts } = await httpWorld((_request, response) => void response.writeHead(403).end('SECRET'))
  const headers = { authorization: 'SECRET', 'x-bad': 'SECRET\r\nx: y' }
  const opener = openerOf({ ...parts, lookup: async () => [{ address: '10.11.12.13', family: 4 }] })
  const failures = await Promise.allSettled([
    openerOf(parts).open('https://cdn.example/SECRET?SECRET', LIMITS),
    openerOf(parts).open('https://cdn.example/SECRET?SECRET', { ...LIMITS, headers }),
    opener.open('https://cdn.example/SECRET?SECRET', LIMITS),
    openerOf().open(`http://127.0.0.1:${port}/SECRET?SECRET`, ON_LOOPBACK),
  ])
  for (const failure of failures) {
    if (failure.status === 'fulfilled') throw new Error('it was not refused')
    const all = [failure.reason, failure.reason.cause]
      .map((error) => `${error?.stack} ${JSON.stringify({ ...error })}`)
      .join()
    expect(all).not.toContain('SECRET')
    expect(all).not.toContain('10.11.12.13')
  }
})
