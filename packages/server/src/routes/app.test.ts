import { once } from 'node:events'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { createHoldfast } from '../create-holdfast.ts'

const ORIGIN = 'https://app.example'

let server: TestHoldfast
let listed: TestHoldfast
beforeAll(async () => {
  server = await startTestHoldfast({
    auth: async (token) => ({ userId: `user of ${token}`, expiresAt: null }),
  })
  listed = await startTestHoldfast({ corsOrigins: [ORIGIN, 'http://localhost:5173'] })
})
afterAll(async () => {
  await server.stop()
  await listed.stop()
})

const preflight = (origin: string) => ({
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,idempotency-key',
  },
})

describe('pages of other origins', () => {
  it('may call nothing unless they are listed', async () => {
    const { call, as } = server
    const asked = await call('OPTIONS', '/v1/tasks', preflight(ORIGIN))
    const answer = await as('ada')('GET', '/v1/tasks', { headers: { origin: ORIGIN } })
    for (const { headers } of [asked, answer])
      expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
  })

  it('may call the API when they are, and no others may', async () => {
    const { call, as } = listed
    const asked = await call('OPTIONS', '/v1/tasks', preflight(ORIGIN))
    expect(asked.status).toBe(204)
    expect(asked.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(asked.headers.get('access-control-allow-headers')?.toLowerCase()).toMatch(
      /authorization.*content-type.*idempotency-key.*last-event-id/,
    )
    expect(asked.headers.get('access-control-allow-credentials')).toBeNull()
    expect(asked.headers.get('vary')).toMatch(/origin/i)

    const read = await as('ada')('GET', '/v1/tasks', { headers: { origin: ORIGIN } })
    expect(read.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(read.headers.get('access-control-expose-headers')).toMatch(/X-Trace-Id/i)
    // Errors too, or the page could not read why.
    const refused = await call('GET', '/v1/tasks', { headers: { origin: ORIGIN } })
    expect(refused.status).toBe(401)
    expect(refused.headers.get('access-control-allow-origin')).toBe(ORIGIN)

    for (const origin of [
      'https://evil.example',
      'https://app.example.evil.example',
      'null',
      `${ORIGIN}:8443`,
    ]) {
      const other = await as('ada')('GET', '/v1/tasks', { headers: { origin } })
      expect(other.headers.get('access-control-allow-origin')).toBeNull()
      const before = await call('OPTIONS', '/v1/tasks', preflight(origin))
      expect(before.headers.get('access-control-allow-origin')).toBeNull()
    }
  })
})

describe('every answer', () => {
  it('is not to be framed, sniffed or guessed at', async () => {
    const { call } = server
    const { headers } = await call('GET', '/healthz')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
  })

  it('without a token: health, and nothing else', async () => {
    const { call } = server
    expect(await call('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(await call('GET', '/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } })
  })
})

describe('a body of somebody whom nobody knows', () => {
  it('is not waited for', async () => {
    const url = await listed.listen()
    for (const authorization of [undefined, 'Bearer forged']) {
      const call = request(`${url}/v1/tasks`, {
        method: 'POST',
        agent: false,
        headers: { 'transfer-encoding': 'chunked', ...(authorization ? { authorization } : {}) },
      })
      const answered = once(call, 'response')
      // And never comes to an end.
      call.write('{')
      const [response] = await answered
      expect(response.statusCode).toBe(401)
      call.destroy()
    }
  })
})

describe('createHoldfast', () => {
  it('refuses a type whose provider there is not, and says which', () => {
    expect(() =>
      createHoldfast({
        database: 'postgres://127.0.0.1:1/x',
        auth: { secret: 'x'.repeat(32) },
        providers: [],
      }),
    ).toThrow(/"image".*"kie"/)
  })

  it('asks a function of the user’s who somebody is', async () => {
    const { call, sql } = server
    const headers = { authorization: 'Bearer badge-7' }
    const { body } = await call('POST', '/v1/conversations', { headers, json: { title: 'foxes' } })
    expect(body).toMatchObject({ conversation: { title: 'foxes' } })
    expect(await sql`select user_id from holdfast.conversations`).toMatchObject([
      { user_id: 'user of badge-7' },
    ])
  })

  it('stops more than once, and leaves a pool that it was given open', async () => {
    const { sql, provider } = server
    const embedded = createHoldfast({
      database: sql,
      auth: { secret: 'x'.repeat(32) },
      providers: [provider],
      types: {},
    })
    await Promise.all([embedded.stop(), embedded.stop()])
    expect(await sql`select 1 as still`).toMatchObject([{ still: 1 }])
  })
})
