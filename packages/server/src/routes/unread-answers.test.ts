import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { signToken } from '../../test/test-tokens.ts'

const MB = 1024 * 1024
let test: TestHoldfast
let port = 0
beforeAll(async () => {
  test = await startTestHoldfast({ streams: { stallMs: 1_000 } })
  port = Number(new URL(await test.listen()).port)
  const params = test.sql.json({ prompt: 'x'.repeat(4_000) })
  await test.sql`
    insert into holdfast.tasks (user_id, type, provider, params)
    select 'eve', 'image', ${test.provider.name}, ${params} from generate_series(1, 1000)
  `
  await test.sql`update holdfast.tasks set status = 'cancelled', finished_at = now()`
})
afterAll(() => test.stop())

/** Asks and reads nothing. */
async function ask(userId: string, path: string, json?: object): Promise<Socket> {
  const body = json ? JSON.stringify(json) : ''
  const socket = connect({
    port,
    host: '127.0.0.1',
    onread: { buffer: Buffer.alloc(1), callback: () => false },
  })
  socket.on('error', () => {})
  socket.write(
    [
      `${json ? 'POST' : 'GET'} ${path} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${await signToken(userId)}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  )
  return socket
}

const sync = () => ask('eve', '/v1/sync', { cursor: '1.1.1' })

describe('who asks and does not read', () => {
  let before = 0
  beforeEach(() => {
    before = process.memoryUsage().arrayBuffers
  })

  it('has no more held for it than a few answers, and is cut off', async () => {
    let largest = 0
    const measuring = setInterval(() => {
      largest = Math.max(largest, process.memoryUsage().arrayBuffers - before)
    }, 20)
    const sockets = await Promise.all(Array.from({ length: 60 }, sync))
    const closed = Promise.all(
      sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    )
    try {
      const more = async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/v1/credits`, {
          headers: { authorization: `Bearer ${await signToken('eve')}` },
        })
        return { status: answer.status, body: await answer.json() }
      }
      await vi.waitFor(async () => expect(await more()).toMatchObject(problem('RATE_LIMITED', 429)), 20_000)
      expect((await test.as('ada')('GET', '/v1/tasks')).status).toBe(200)
      // All of it is let go of, and then the user is served again.
      await vi.waitFor(async () => expect(await more()).toMatchObject({ status: 200 }), 20_000)
      expect(largest / MB).toBeLessThan(250)
    } finally {
      clearInterval(measuring)
      for (const socket of sockets) socket.destroy()
      await closed
    }
  }, 60_000)
})
