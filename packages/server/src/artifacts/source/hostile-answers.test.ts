import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { PNG } from '../../../test/media-samples.ts'
import {
  attempt,
  httpWorld,
  PNG_HEAD,
  rawWorld,
  TIGHT_LIMITS,
  tcpWorld,
} from '../../../test/source-attempt.ts'
import { createSourceOpener } from './open-source.ts'

describe('S3 answers that are not the file', () => {
  const refused: [status: number, code: string, retryable: boolean][] = [
    [401, 'EXPIRED', false],
    [403, 'EXPIRED', false],
    [404, 'EXPIRED', false],
    [410, 'EXPIRED', false],
    [400, 'STATUS', false],
    [418, 'STATUS', false],
    [429, 'STATUS', true],
    [408, 'STATUS', true],
    [500, 'STATUS', true],
    [503, 'STATUS', true],
    [201, 'STATUS', false],
    [206, 'STATUS', false],
    [300, 'STATUS', false],
    [304, 'STATUS', false],
  ]

  test.each(refused)('status %i', async (status, code, retryable) => {
    const body = status === 304 ? [] : [PNG]
    const world = await rawWorld([`HTTP/1.1 ${status} X\r\ncontent-length: ${PNG.length}\r\n\r\n`, ...body])
    expect(await attempt(world, 'https://cdn.example/')).toEqual({
      code,
      opened: false,
      delivered: 0,
      retryable,
    })
  })

  test('status 204', async () => {
    const world = await rawWorld(['HTTP/1.1 204 No Content\r\n\r\n'])
    expect(await attempt(world, 'https://cdn.example/')).toMatchObject({ code: 'STATUS', opened: false })
  })

  const garbage: [name: string, answer: string, end: 'close' | undefined, code: string][] = [
    ['not HTTP at all', 'SSH-2.0-OpenSSH_9.2\r\n', undefined, 'CUT'],
    ['a header without a name', `${PNG_HEAD}: x\r\n\r\n`, undefined, 'CUT'],
    ['a header with a NUL', `${PNG_HEAD}x: a\0b\r\n\r\n`, undefined, 'CUT'],
    ['a length that is no number', `${PNG_HEAD}content-length: ten\r\n\r\n`, undefined, 'CUT'],
    ['a negative length', `${PNG_HEAD}content-length: -1\r\n\r\n`, undefined, 'CUT'],
    [
      'two lengths',
      `${PNG_HEAD}content-length: 5\r\ncontent-length: 6\r\n\r\n`,
      undefined,
      'LENGTH_MISMATCH',
    ],
    [
      'a length and chunks',
      `${PNG_HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`,
      undefined,
      'LENGTH_MISMATCH',
    ],
    ['a chunk of no size', `${PNG_HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n`, undefined, 'CUT'],
    ['endless headers', `${PNG_HEAD}${'x: y\r\n'.repeat(20_000)}`, undefined, 'CUT'],
    ['a change of protocol', 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n', undefined, 'CUT'],
    ['nothing, and closes', '', 'close', 'CUT'],
    ['half a status line, and closes', 'HTTP/1.1 2', 'close', 'CUT'],
  ]

  test.each(garbage)('%s', async (_name, answer, end, code) => {
    const world = await rawWorld([answer], end)
    expect(await attempt(world, 'https://cdn.example/')).toEqual({
      code,
      opened: false,
      delivered: 0,
      retryable: true,
    })
  })
})

describe('S3 bodies', () => {
  const chunk = (bytes: Buffer) => [`${bytes.length.toString(16)}\r\n`, bytes, '\r\n']
  const large = Buffer.concat([PNG, Buffer.alloc(100_000, 1)])
  type Refusal = { code: string; opened: boolean; retryable: boolean }
  const early = (code: string, retryable = false): Refusal => ({ code, opened: false, retryable })
  const midway = (code: string, retryable = true): Refusal => ({ code, opened: true, retryable })

  const refused: [name: string, answer: (string | Buffer)[], end: 'close' | undefined, outcome: Refusal][] = [
    [
      'a length beyond the limit',
      [`${PNG_HEAD}content-length: 1000001\r\n\r\n`, PNG],
      undefined,
      early('TOO_LARGE'),
    ],
    [
      'an absurd length',
      [`${PNG_HEAD}content-length: 9000000000000000\r\n\r\n`, PNG],
      undefined,
      early('TOO_LARGE'),
    ],
    ['no end of its own', [`${PNG_HEAD}\r\n`, PNG], 'close', early('LENGTH_MISMATCH')],
    [
      'HTTP/1.0 without a length',
      ['HTTP/1.0 200 OK\r\ncontent-type: image/png\r\n\r\n', PNG],
      'close',
      early('LENGTH_MISMATCH'),
    ],
    [
      'fewer bytes than announced',
      [`${PNG_HEAD}content-length: 200000\r\n\r\n`, large],
      'close',
      midway('LENGTH_MISMATCH'),
    ],
    [
      'fewer bytes than announced, on a connection to be closed',
      [`${PNG_HEAD}connection: close\r\ncontent-length: 200000\r\n\r\n`, large],
      'close',
      midway('LENGTH_MISMATCH'),
    ],
    [
      'so few bytes that the type is not known yet',
      [`${PNG_HEAD}content-length: 2000\r\n\r\n`, PNG],
      'close',
      early('LENGTH_MISMATCH', true),
    ],
    [
      'more bytes than announced',
      [`${PNG_HEAD}content-length: ${PNG.length}\r\n\r\n`, PNG, 'and more'],
      undefined,
      early('LENGTH_MISMATCH', true),
    ],
    [
      'a second answer behind the first',
      [`${PNG_HEAD}content-length: ${PNG.length}\r\n\r\n`, PNG, `${PNG_HEAD}content-length: 0\r\n\r\n`],
      undefined,
      early('LENGTH_MISMATCH', true),
    ],
    [
      'a cut within a chunk',
      [`${PNG_HEAD}transfer-encoding: chunked\r\n\r\n20000\r\n`, large],
      'close',
      midway('CUT'),
    ],
    [
      'a cut between chunks',
      [`${PNG_HEAD}transfer-encoding: chunked\r\n\r\n`, ...chunk(large)],
      'close',
      midway('CUT'),
    ],
    [
      'a cut between chunks, on a connection to be closed',
      [`${PNG_HEAD}connection: close\r\ntransfer-encoding: chunked\r\n\r\n`, ...chunk(large)],
      'close',
      midway('CUT'),
    ],
    [
      'a broken chunk after good ones',
      [`${PNG_HEAD}transfer-encoding: chunked\r\n\r\n`, ...chunk(large), 'zz\r\n'],
      undefined,
      midway('CUT'),
    ],
    [
      'gzip',
      [`${PNG_HEAD}content-encoding: gzip\r\ncontent-length: 100\r\n\r\n`],
      undefined,
      early('ENCODED'),
    ],
    [
      'brotli',
      [`${PNG_HEAD}content-encoding: br\r\ntransfer-encoding: chunked\r\n\r\n`],
      undefined,
      early('ENCODED'),
    ],
    [
      'gzip twice',
      [`${PNG_HEAD}content-encoding: gzip, gzip\r\ncontent-length: 9\r\n\r\n`],
      undefined,
      early('ENCODED'),
    ],
    [
      'gzip as a transfer encoding',
      [`${PNG_HEAD}transfer-encoding: gzip, chunked\r\n\r\n`],
      undefined,
      early('ENCODED'),
    ],
    ['no bytes', [`${PNG_HEAD}content-length: 0\r\n\r\n`], undefined, early('WRONG_TYPE')],
    [
      'a page in place of the picture',
      [`${PNG_HEAD}content-length: 31\r\n\r\n<html><script></script></html>\n`],
      undefined,
      early('WRONG_TYPE'),
    ],
    [
      'a picture announced as a page',
      [`HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: ${PNG.length}\r\n\r\n`, PNG],
      undefined,
      early('WRONG_TYPE'),
    ],
  ]

  test.each(refused)('%s', async (_name, answer, end, outcome) => {
    const world = await rawWorld(answer, end)
    const { delivered, ...rest } = await attempt(world, 'https://cdn.example/')
    expect(rest).toEqual(outcome)
    if (!outcome.opened) expect(delivered).toBe(0)
  })

  test('a bomb: a thousandfold file under content-encoding', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    const head = `${PNG_HEAD}content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`
    expect(await attempt(await rawWorld([head, bomb]), 'https://cdn.example/')).toMatchObject(
      early('ENCODED'),
    )
  })

  test('a bomb without a word of it', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    const head = `${PNG_HEAD}content-length: ${bomb.length}\r\n\r\n`
    expect(await attempt(await rawWorld([head, bomb]), 'https://cdn.example/')).toMatchObject(
      early('WRONG_TYPE'),
    )
  })

  test('an endless one: cut at the limit, and not a byte beyond it handed on', async () => {
    const world = await httpWorld((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' }).write(PNG)
      const more = () => {
        while (response.write(Buffer.alloc(64 * 1024)));
        response.once('drain', more)
      }
      more()
    })
    const outcome = await attempt(world, 'https://cdn.example/')
    expect(outcome).toMatchObject({ code: 'TOO_LARGE', opened: true, retryable: false })
    expect(outcome.delivered).toBeLessThanOrEqual(TIGHT_LIMITS.maxBytes)
    expect(world.sockets[0]?.destroyed).toBe(true)
  })

  test('an endless one of a kind that is refused: its connection is closed at once', async () => {
    const world = await httpWorld((_request, response) => {
      const more = () => {
        while (response.write('<html>'.repeat(10_000)));
        response.once('drain', more)
      }
      more()
    })
    const opener = createSourceOpener(world.parts)
    onTestFinished(() => opener.close())
    await expect(opener.open('https://cdn.example/', TIGHT_LIMITS)).rejects.toMatchObject({
      code: 'WRONG_TYPE',
    })
    expect(world.sockets.map((socket) => socket.destroyed)).toEqual([true])
  })

  test('a reset in the middle', async () => {
    const world = await tcpWorld((socket) => {
      socket.once('data', () => socket.write(`${PNG_HEAD}content-length: 200000\r\n\r\n`))
      socket.once('data', () => socket.write(large))
    })
    const opener = createSourceOpener(world.parts)
    onTestFinished(() => opener.close())
    const { body } = await opener.open('https://cdn.example/', TIGHT_LIMITS)
    const reader = body[Symbol.asyncIterator]()
    await reader.next()
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    world.sockets[0]?.destroy(reset)
    await expect(
      (async () => {
        while (!(await reader.next()).done);
      })(),
    ).rejects.toMatchObject({ code: 'CUT', retryable: true })
  })
})
