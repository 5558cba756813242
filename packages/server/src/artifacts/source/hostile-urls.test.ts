import { describe, expect, test } from 'vitest'
import { PNG } from '../../../test/media-samples.ts'
import { attempt, httpWorld, redirectingWorld } from '../../../test/source-attempt.ts'
import { PUBLIC } from '../../../test/source-world.ts'
import type { SourceOptions } from './open-source.ts'

describe('S3 URLs that are refused before anything is looked up', () => {
  const refused: [url: string, code: string, options?: Partial<SourceOptions>][] = [
    ['file:///etc/passwd', 'SCHEME'],
    ['data:image/png;base64,iVBORw0KGgo=', 'SCHEME'],
    ['ftp://cdn.example/a.png', 'SCHEME'],
    ['gopher://cdn.example:70/1', 'SCHEME'],
    ['javascript:alert(1)', 'SCHEME'],
    ['blob:https://cdn.example/1', 'SCHEME'],
    ['ws://cdn.example/a.png', 'SCHEME'],
    ['about:blank', 'SCHEME'],
    ['http://cdn.example/a.png', 'SCHEME'],
    ['HTTP://CDN.EXAMPLE/a.png', 'SCHEME'],
    ['', 'BAD_URL'],
    ['a.png', 'BAD_URL'],
    ['//cdn.example/a.png', 'BAD_URL'],
    ['https://', 'BAD_URL'],
    ['https:///', 'BAD_URL'],
    ['https://user@cdn.example/a.png', 'BAD_URL'],
    ['https://user:password@cdn.example/a.png', 'BAD_URL'],
    ['https://cdn.example@169.254.169.254/', 'BAD_URL'],
    ['https://cdn.example:0/a.png', 'BAD_URL'],
    ['https://cdn.example:65536/a.png', 'BAD_URL'],
    ['https://256.0.0.1/', 'BAD_URL'],
    ['https://1.2.3.4.5/', 'BAD_URL'],
    ['https://[fe80::1%25eth0]/', 'BAD_URL'],
    ['https://127.0.0.1/', 'FORBIDDEN_ADDRESS'],
    ['https://127.0.0.1:8443/', 'FORBIDDEN_ADDRESS'],
    ['https://127.1/', 'FORBIDDEN_ADDRESS'],
    ['https://2130706433/', 'FORBIDDEN_ADDRESS'],
    ['https://0x7f000001/', 'FORBIDDEN_ADDRESS'],
    ['https://0177.0.0.1/', 'FORBIDDEN_ADDRESS'],
    ['https://017700000001/', 'FORBIDDEN_ADDRESS'],
    ['https://0x7f.0.0.0x1/', 'FORBIDDEN_ADDRESS'],
    ['https://127.0.0.1./', 'FORBIDDEN_ADDRESS'],
    ['https://①②⑦.⓪.⓪.①/', 'FORBIDDEN_ADDRESS'],
    ['https://127。0。0。1/', 'FORBIDDEN_ADDRESS'],
    ['https://%31%32%37.0.0.1/', 'FORBIDDEN_ADDRESS'],
    ['https:\\\\127.0.0.1\\', 'FORBIDDEN_ADDRESS'],
    ['  https://127.0.0.1/', 'FORBIDDEN_ADDRESS'],
    ['https://0/', 'FORBIDDEN_ADDRESS'],
    ['https://0.0.0.0/', 'FORBIDDEN_ADDRESS'],
    ['https://10.1.2.3/', 'FORBIDDEN_ADDRESS'],
    ['https://172.20.1.1/', 'FORBIDDEN_ADDRESS'],
    ['https://192.168.1.1/', 'FORBIDDEN_ADDRESS'],
    ['https://169.254.169.254/latest/meta-data/', 'FORBIDDEN_ADDRESS'],
    ['https://0xa9fea9fe/latest/meta-data/', 'FORBIDDEN_ADDRESS'],
    ['https://100.100.100.200/', 'FORBIDDEN_ADDRESS'],
    ['https://192.0.0.192/', 'FORBIDDEN_ADDRESS'],
    ['https://168.63.129.16/', 'FORBIDDEN_ADDRESS'],
    ['https://198.18.0.1/', 'FORBIDDEN_ADDRESS'],
    ['https://203.0.113.1/', 'FORBIDDEN_ADDRESS'],
    ['https://224.0.0.1/', 'FORBIDDEN_ADDRESS'],
    ['https://255.255.255.255/', 'FORBIDDEN_ADDRESS'],
    ['https://[::]/', 'FORBIDDEN_ADDRESS'],
    ['https://[::1]/', 'FORBIDDEN_ADDRESS'],
    ['https://[::ffff:127.0.0.1]/', 'FORBIDDEN_ADDRESS'],
    ['https://[::ffff:a9fe:a9fe]/', 'FORBIDDEN_ADDRESS'],
    ['https://[0:0:0:0:0:ffff:10.0.0.1]/', 'FORBIDDEN_ADDRESS'],
    ['https://[::127.0.0.1]/', 'FORBIDDEN_ADDRESS'],
    ['https://[64:ff9b::10.0.0.1]/', 'FORBIDDEN_ADDRESS'],
    ['https://[2002:7f00:1::]/', 'FORBIDDEN_ADDRESS'],
    ['https://[2001:0:808:808::1]/', 'FORBIDDEN_ADDRESS'],
    ['https://[fd00:ec2::254]/', 'FORBIDDEN_ADDRESS'],
    ['https://[fe80::1]/', 'FORBIDDEN_ADDRESS'],
    ['https://[ff02::1]/', 'FORBIDDEN_ADDRESS'],
    ['http://10.0.0.1/', 'FORBIDDEN_ADDRESS', { allowHttp: true }],
    ['http://127.0.0.1/', 'FORBIDDEN_ADDRESS', { allowHttp: true }],
    ['https://10.0.0.1/', 'FORBIDDEN_ADDRESS', { allowLoopback: true }],
    ['https://[::ffff:10.0.0.1]/', 'FORBIDDEN_ADDRESS', { allowLoopback: true, allowHttp: true }],
    ['http://93.184.215.14/', 'SCHEME', { allowLoopback: true }],
  ]

  test.each(refused)('%s is %s', async (url, code, options) => {
    const world = await redirectingWorld({})
    expect(await attempt(world, url, options)).toEqual({
      code,
      opened: false,
      delivered: 0,
      retryable: false,
    })
    expect([world.lookedUp, world.dialled]).toEqual([[], []])
  })
})

describe('S3 names that lead to where nobody should go', () => {
  const refused: [name: string, answers: string[], code: string, options?: Partial<SourceOptions>][] = [
    ['a loopback address', ['127.0.0.1'], 'FORBIDDEN_ADDRESS'],
    ['a private address', ['10.0.0.8'], 'FORBIDDEN_ADDRESS'],
    ['the metadata service', ['169.254.169.254'], 'FORBIDDEN_ADDRESS'],
    ['loopback in IPv6', ['::1'], 'FORBIDDEN_ADDRESS'],
    ['a link-local address with a zone', ['fe80::1%eth0'], 'FORBIDDEN_ADDRESS'],
    ['a private address in the dress of IPv6', ['::ffff:192.168.0.1'], 'FORBIDDEN_ADDRESS'],
    ['a private address behind NAT64', ['64:ff9b::c0a8:1'], 'FORBIDDEN_ADDRESS'],
    ['a public address and then a private one', [PUBLIC, '10.0.0.8'], 'FORBIDDEN_ADDRESS'],
    ['a private address and then a public one', ['10.0.0.8', PUBLIC], 'FORBIDDEN_ADDRESS'],
    ['public IPv4 and private IPv6', [PUBLIC, 'fd00::1'], 'FORBIDDEN_ADDRESS'],
    ['something that is no address', ['nonsense'], 'FORBIDDEN_ADDRESS'],
    [
      'a private address, where loopback is allowed',
      ['10.0.0.8'],
      'FORBIDDEN_ADDRESS',
      { allowLoopback: true },
    ],
    ['nothing', [], 'DNS'],
  ]

  test.each(refused)('%s', async (_name, answers, code, options) => {
    const world = await redirectingWorld({})
    world.names.set('evil.example', [answers])
    const outcome = await attempt(world, 'https://evil.example/a.png', options)
    expect(outcome).toEqual({ code, opened: false, delivered: 0, retryable: code === 'DNS' })
    expect(world.dialled).toEqual([])
  })

  test('localhost, by the system resolver', async () => {
    const world = await redirectingWorld({})
    const real = { ...world, parts: { ...world.parts, lookup: undefined } }
    expect(await attempt(real, 'https://localhost/a.png')).toMatchObject({ code: 'FORBIDDEN_ADDRESS' })
    expect(world.dialled).toEqual([])
  })

  test('a name that does not exist', async () => {
    const world = await redirectingWorld({})
    const lookup = () =>
      Promise.reject(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }))
    const outcome = await attempt(
      { ...world, parts: { ...world.parts, lookup } },
      'https://gone.example/a.png',
    )
    expect(outcome).toEqual({ code: 'DNS', opened: false, delivered: 0, retryable: true })
  })

  test('localhost that is somewhere else, where only loopback is allowed', async () => {
    const world = await redirectingWorld({})
    const outcome = await attempt(world, 'http://localhost/a.png', { allowLoopback: true })
    expect(outcome).toMatchObject({ code: 'FORBIDDEN_ADDRESS', opened: false })
    expect(world.dialled).toEqual([])
  })

  test('rebinding: a name that was public when it was checked and is private when it is used', async () => {
    const world = await redirectingWorld({})
    world.names.set('rebind.example', [[PUBLIC], ['127.0.0.1']])
    expect(await attempt(world, 'https://rebind.example/a.png')).toMatchObject({
      code: 'none',
      delivered: PNG.length,
    })
    // One look-up, and the connection went to what it had answered.
    expect([world.lookedUp, world.dialled]).toEqual([['rebind.example'], [PUBLIC]])
    expect(await attempt(world, 'https://rebind.example/a.png')).toMatchObject({
      code: 'FORBIDDEN_ADDRESS',
      opened: false,
    })
    expect(world.dialled).toEqual([PUBLIC])
  })

  test('a connection that ends up elsewhere than was asked for', async () => {
    const world = await redirectingWorld({})
    const connect: NonNullable<typeof world.parts.connect> = (options, addresses, callback) =>
      world.parts.connect?.(options, addresses, (error, socket) => {
        if (!socket) return callback(error ?? new Error('no socket'), null)
        Object.defineProperty(socket, 'remoteAddress', { get: () => '127.0.0.1', configurable: true })
        callback(null, socket)
      })
    const outcome = await attempt(
      { ...world, parts: { ...world.parts, connect } },
      'https://cdn.example/a.png',
    )
    expect(outcome).toEqual({ code: 'FORBIDDEN_ADDRESS', opened: false, delivered: 0, retryable: false })
    expect(world.sockets.map((socket) => socket.destroyed)).toEqual([true])
  })
})

describe('S3 redirects', () => {
  const first = 'https://cdn.example/0'
  const refused: [
    name: string,
    hops: Record<string, string>,
    code: string,
    options?: Partial<SourceOptions>,
  ][] = [
    ['to loopback', { 'cdn.example/0': 'https://127.0.0.1/' }, 'FORBIDDEN_ADDRESS'],
    ['to loopback in decimal', { 'cdn.example/0': 'https://2130706433/' }, 'FORBIDDEN_ADDRESS'],
    ['to the metadata service', { 'cdn.example/0': 'https://169.254.169.254/' }, 'FORBIDDEN_ADDRESS'],
    ['to a private IPv6', { 'cdn.example/0': 'https://[fd00::1]/' }, 'FORBIDDEN_ADDRESS'],
    ['to a name with a private address', { 'cdn.example/0': 'https://inside.example/' }, 'FORBIDDEN_ADDRESS'],
    ['to a private address without a scheme', { 'cdn.example/0': '//10.0.0.1/' }, 'FORBIDDEN_ADDRESS'],
    [
      'to a private address at the second hop',
      { 'cdn.example/0': 'https://b.example/1', 'b.example/1': 'https://10.0.0.1/' },
      'FORBIDDEN_ADDRESS',
    ],
    [
      'to a private address at the fifth hop',
      {
        'cdn.example/0': '/1',
        'cdn.example/1': '/2',
        'cdn.example/2': '/3',
        'cdn.example/3': '/4',
        'cdn.example/4': 'https://inside.example/',
      },
      'FORBIDDEN_ADDRESS',
    ],
    ['to a file', { 'cdn.example/0': 'file:///etc/passwd' }, 'SCHEME'],
    ['to data', { 'cdn.example/0': 'data:image/png;base64,iVBORw0KGgo=' }, 'SCHEME'],
    ['to gopher', { 'cdn.example/0': 'gopher://b.example/' }, 'SCHEME'],
    ['from https to http', { 'cdn.example/0': 'http://cdn.example/1' }, 'SCHEME'],
    [
      'from https to http where http is allowed',
      { 'cdn.example/0': 'http://b.example/1' },
      'SCHEME',
      { allowHttp: true },
    ],
    ['to a URL with a password', { 'cdn.example/0': 'https://a:b@b.example/' }, 'BAD_URL'],
    ['to no URL', { 'cdn.example/0': 'https://[/' }, 'BAD_URL'],
    ['to port 0', { 'cdn.example/0': 'https://b.example:0/' }, 'BAD_URL'],
    ['to nowhere', { 'cdn.example/0': '' }, 'STATUS'],
    ['to itself', { 'cdn.example/0': first }, 'TOO_MANY_REDIRECTS'],
    ['in a circle', { 'cdn.example/0': 'https://b.example/', 'b.example/': first }, 'TOO_MANY_REDIRECTS'],
    [
      'six times',
      Object.fromEntries(Array.from({ length: 6 }, (_, hop) => [`cdn.example/${hop}`, `/${hop + 1}`])),
      'TOO_MANY_REDIRECTS',
    ],
  ]

  test.each(refused)('%s', async (_name, hops, code, options) => {
    const world = await redirectingWorld(hops)
    world.names.set('inside.example', [['10.0.0.8']])
    expect(await attempt(world, first, options)).toEqual({
      code,
      opened: false,
      delivered: 0,
      retryable: false,
    })
    expect(new Set(world.dialled)).toEqual(new Set([PUBLIC]))
  })

  test('with an endless body', async () => {
    const world = await httpWorld((_request, response) => {
      response.writeHead(302, { location: 'https://127.0.0.1/' })
      const more = () => {
        while (response.write(Buffer.alloc(64 * 1024)));
        response.once('drain', more)
      }
      more()
    })
    expect(await attempt(world, first)).toMatchObject({ code: 'FORBIDDEN_ADDRESS', opened: false })
    expect(world.sockets[0]?.destroyed).toBe(true)
  })
})
