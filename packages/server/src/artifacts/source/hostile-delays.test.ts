import { describe, expect, test } from 'vitest'
import { PNG } from '../../../test/media-samples.ts'
import { attempt, httpWorld, PNG_HEAD, rawWorld, tcpWorld } from '../../../test/source-attempt.ts'

describe('S3 hosts that take their time', () => {
  test('one that never answers', async () => {
    const world = await rawWorld([])
    const outcome = await attempt(world, 'https://cdn.example/', { timeoutMs: 1_000 })
    expect(outcome).toEqual({ code: 'TIMEOUT', opened: false, delivered: 0, retryable: true })
    expect(world.sockets[0]?.destroyed).toBe(true)
  })

  test('one that is never connected to', async () => {
    const world = await rawWorld([])
    const outcome = await attempt(
      { ...world, parts: { ...world.parts, connect: () => undefined } },
      'https://cdn.example/',
      {
        timeoutMs: 1_000,
      },
    )
    expect(outcome).toMatchObject({ code: 'TIMEOUT', opened: false })
  })

  test('one whose name never resolves', async () => {
    const world = await rawWorld([])
    const lookup = () => new Promise<never>(() => undefined)
    const outcome = await attempt({ ...world, parts: { ...world.parts, lookup } }, 'https://cdn.example/', {
      timeoutMs: 1_000,
    })
    expect(outcome).toMatchObject({ code: 'TIMEOUT', opened: false })
  })

  test('one that falls silent before the answer', async () => {
    const world = await rawWorld(['HTTP/1.1 200'])
    expect(await attempt(world, 'https://cdn.example/', { timeoutMs: 60_000 }, 1_000)).toMatchObject({
      code: 'TIMEOUT',
      opened: false,
    })
  })

  test('one that falls silent within the file', async () => {
    const world = await rawWorld([`${PNG_HEAD}content-length: 9000\r\n\r\n`, PNG, Buffer.alloc(5_000)])
    expect(await attempt(world, 'https://cdn.example/', { timeoutMs: 60_000 }, 1_000)).toMatchObject({
      code: 'TIMEOUT',
      opened: true,
    })
  })

  /** A byte at a time, and never silent for long. */
  const drip = (first: string | Buffer) =>
    tcpWorld((socket) => {
      socket.once('data', () => {
        socket.write(first)
        const timer = setInterval(() => socket.write('x'), 20)
        socket.once('close', () => clearInterval(timer))
      })
    })

  test.each([
    ['before the status', 'HTTP/1.1 200 '],
    ['in its headers', `${PNG_HEAD}x: `],
    ['in its first bytes', `${PNG_HEAD}content-length: 9000\r\n\r\n`],
  ])('one that drips %s', async (_where, first) => {
    const world = await drip(first)
    const outcome = await attempt(world, 'https://cdn.example/', { timeoutMs: 1_500 }, 15_000)
    expect(outcome).toMatchObject({ code: 'TIMEOUT', opened: false, delivered: 0 })
    expect(world.sockets[0]?.destroyed).toBe(true)
  })

  test('one that drips further on', async () => {
    const world = await drip(
      Buffer.concat([Buffer.from(`${PNG_HEAD}content-length: 90000\r\n\r\n`), PNG, Buffer.alloc(5_000)]),
    )
    const outcome = await attempt(world, 'https://cdn.example/', { timeoutMs: 1_500 }, 15_000)
    expect(outcome).toMatchObject({ code: 'TIMEOUT', opened: true })
    expect(world.sockets[0]?.destroyed).toBe(true)
  })

  test('one that redirects slowly for ever, each time in time', async () => {
    const world = await httpWorld((_request, response) => {
      setTimeout(() => response.writeHead(302, { location: '/again' }).end(), 150)
    })
    const outcome = await attempt(world, 'https://cdn.example/', { timeoutMs: 400 })
    expect(outcome).toMatchObject({ code: 'TIMEOUT', opened: false })
  })
})
