import { generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { dumpTables } from '../../test/dump-tables.ts'
import { type Seeded, seedUser } from '../../test/seed-user.ts'
import { type Call, problem, startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { signToken, TEST_AUDIENCE, TEST_ISSUER } from '../../test/test-tokens.ts'

let server: TestHoldfast
let ada: Call
let bobs: Seeded
let before: string[]
beforeAll(async () => {
  server = await startTestHoldfast()
  ada = server.as('ada')
  await seedUser(server.sql, 'ada')
  bobs = await seedUser(server.sql, 'bob')
  // A user who looks has their polls hastened, once: that is no change of what is asked below.
  await ada('GET', '/v1/tasks')
  await vi.waitFor(async () =>
    expect(
      await server.sql`
        select from holdfast.work w join holdfast.tasks t on t.id = w.task_id
        where t.user_id = 'ada' and w.kind = 'poll' and w.due_at > now() + interval '1 s'
      `,
    ).toHaveLength(0),
  )
  before = await dumpTables(server.sql)
})
afterAll(() => server.stop())

const STRANGER = '0199d2a0-0000-7000-8000-000000000001'
const fox = { type: 'image', params: { prompt: 'a fox' } }
const json = { 'content-type': 'application/json' }
const seconds = () => Math.floor(Date.now() / 1000)
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Every problem has its shape, its header, and leaves no trace in the database. */
async function expectRefused(answer: ReturnType<Call>, code: Parameters<typeof problem>[0], status: number) {
  const given = await answer
  expect(given).toMatchObject(problem(code, status))
  expect(given.headers.get('content-type')).toBe('application/problem+json')
  expect(given.body).toMatchObject({
    title: expect.stringMatching(/./),
    detail: expect.stringMatching(/./),
    traceId: given.headers.get('x-trace-id'),
  })
  expect(await dumpTables(server.sql)).toEqual(before)
}

describe('bodies that are refused and change nothing', () => {
  it.each<[string, string]>([
    ['broken JSON', '{"type": "image"'],
    ['no JSON at all', 'type=image'],
    ['nothing', ''],
    ['JSON and more', `${JSON.stringify(fox)}x`],
  ])('%s', async (_, body) => {
    await expectRefused(ada('POST', '/v1/tasks', { body, headers: json }), 'INVALID_JSON', 400)
  })

  it.each<[string, string]>([
    ['null', 'null'],
    ['a number', '5'],
    ['a list', '[]'],
    ['no params', '{"type": "image"}'],
    ['a field of ours', JSON.stringify({ ...fox, status: 'completed' })],
    ['somebody else’s name', JSON.stringify({ ...fox, userId: 'bob' })],
    ['U+0000 in a value', JSON.stringify({ ...fox, params: { prompt: 'a\u0000b' } })],
    ['U+0000 in a key', JSON.stringify({ ...fox, params: { prompt: 'a', 'k\u0000': 1 } })],
    ['U+0000 in metadata', JSON.stringify({ ...fox, metadata: { a: ['\u0000'] } })],
    ['half a character', '{"type": "image", "params": {"prompt": "\\ud800"}}'],
    ['the other half', '{"type": "image", "params": {"prompt": "\\udc00 "}}'],
    ['half a character in a key', '{"type": "image", "params": {"prompt": "a", "\\ud800": 1}}'],
    ['half a character in the type', '{"type": "\\ud800", "params": {"prompt": "a"}}'],
    ['a number beyond all numbers', '{"type": "image", "params": {"prompt": "a", "n": 1e999}}'],
    ['values without end', `{"type": "image", "params": {"prompt": "a", "a": [${'[],'.repeat(20_000)}[]]}}`],
    [
      'nesting too deep',
      `{"type": "image", "params": {"prompt": "a", "deep": ${'['.repeat(100)}${']'.repeat(100)}}}`,
    ],
    [
      'nesting far too deep',
      `{"type": "image", "params": {"prompt": "a", "deep": ${'[{"a":'.repeat(30_000)}1${'}]'.repeat(30_000)}}}`,
    ],
  ])('%s', async (_, body) => {
    await expectRefused(
      ada('POST', '/v1/tasks', { body, headers: json }),
      body.length > 256 * 1024 ? 'BODY_TOO_LARGE' : 'INVALID_REQUEST',
      body.length > 256 * 1024 ? 413 : 400,
    )
  })

  it('nesting so deep that a recursive walk would not return', async () => {
    const deep = `{"type": "image", "params": {"prompt": "a", "deep": ${'['.repeat(100_000)}${']'.repeat(100_000)}}}`
    const answer = await ada<{ code: string }>('POST', '/v1/tasks', { body: deep, headers: json })
    expect(['INVALID_REQUEST', 'INVALID_JSON']).toContain(answer.body.code)
    expect(await dumpTables(server.sql)).toEqual(before)
  })

  it.each(['clip', '', 'IMAGE', 'constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'the type "%s"',
    async (type) => {
      const code = type === '' ? 'INVALID_REQUEST' : 'UNKNOWN_TASK_TYPE'
      await expectRefused(ada('POST', '/v1/tasks', { json: { ...fox, type } }), code, 400)
    },
  )

  it.each([{}, { prompt: '' }, { prompt: 5 }, { prompt: null }, { api_key: 'hush', password: 'hush' }])(
    'params that do not fit: %j',
    async (params) => {
      await expectRefused(ada('POST', '/v1/tasks', { json: { ...fox, params } }), 'INVALID_PARAMS', 400)
    },
  )

  it('2 MB of params, announced or not; without a token nobody looks at them', async () => {
    const body = JSON.stringify({ ...fox, params: { prompt: 'x'.repeat(2 * 1024 * 1024) } })
    const length = { ...json, 'content-length': String(Buffer.byteLength(body)) }
    for (const headers of [json, length]) {
      await expectRefused(ada('POST', '/v1/tasks', { body, headers }), 'BODY_TOO_LARGE', 413)
      await expectRefused(server.call('POST', '/v1/tasks', { body, headers }), 'UNAUTHENTICATED', 401)
    }
    expect(server.logLines.join('')).not.toContain('unexpected error')
  })

  it('2 MB of params over a real connection, in pieces of unknown number', async () => {
    const url = await server.listen()
    const piece = new TextEncoder().encode('x'.repeat(64 * 1024))
    let sent = 0
    const response = await fetch(`${url}/v1/tasks`, {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${await signToken('ada')}` },
      body: new ReadableStream({
        pull(controller) {
          sent += 1
          if (sent > 32) controller.close()
          else controller.enqueue(piece)
        },
      }),
      duplex: 'half',
    } as RequestInit)
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ code: 'BODY_TOO_LARGE' })
    expect(await dumpTables(server.sql)).toEqual(before)
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''])(
    'content of type "%s"',
    async (type) => {
      const headers: Record<string, string> = type === '' ? {} : { 'content-type': type }
      const body = new TextEncoder().encode(JSON.stringify(fox))
      await expectRefused(ada('POST', '/v1/tasks', { body, headers }), 'UNSUPPORTED_MEDIA_TYPE', 415)
    },
  )

  it.each<[string, unknown]>([
    ['/v1/conversations', {}],
    ['/v1/conversations', { title: '' }],
    ['/v1/conversations', { title: 'x', id: 'mine' }],
    ['/v1/conversations', { title: 'a\u0000' }],
    ['/v1/conversations', { title: 'x', unread: 5 }],
    ['/v1/sync', { known: { mine: [1, null] } }],
    ['/v1/sync', { known: { [STRANGER]: [-1, null] } }],
    ['/v1/sync', { cursor: 5 }],
    ['/v1/sync', { cursor: 'x'.repeat(300) }],
  ])('%s with %j', async (path, body) => {
    await expectRefused(ada('POST', path, { json: body }), 'INVALID_REQUEST', 400)
  })
})

describe('__proto__ in a body', () => {
  it('reaches neither the prototype of anything nor the database as a way around the rules', async () => {
    const body =
      '{"type": "image", "params": {"prompt": "a", "__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}, "metadata": {"__proto__": {"polluted": true}}}'
    const own = await startTestHoldfast()
    try {
      const answer = await own.as('ada')('POST', '/v1/tasks', { body, headers: json })
      expect(answer.status).toBe(201)
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
      expect(answer.body).toMatchObject({ task: { params: { prompt: 'a' } } })
      const missing = '{"type": "image", "params": {"__proto__": {"prompt": "inherited"}}}'
      expect(await own.as('ada')('POST', '/v1/tasks', { body: missing, headers: json })).toMatchObject(
        problem('INVALID_PARAMS', 400),
      )
    } finally {
      await own.stop()
    }
  })
})

describe('tokens that are refused and change nothing (S2)', () => {
  const claims = () => ({ sub: 'ada', iss: TEST_ISSUER, aud: TEST_AUDIENCE, exp: seconds() + 3600 })
  const routes: [string, string][] = [
    ['POST', '/v1/tasks'],
    ['GET', '/v1/tasks'],
    ['GET', `/v1/tasks/${STRANGER}`],
    ['POST', `/v1/tasks/${STRANGER}/cancel`],
    ['POST', `/v1/tasks/${STRANGER}/retry`],
    ['POST', '/v1/sync'],
    ['GET', '/v1/stream'],
    ['GET', '/v1/conversations'],
    ['POST', '/v1/conversations'],
    ['GET', `/v1/conversations/${STRANGER}/messages`],
    ['POST', `/v1/conversations/${STRANGER}/read`],
    ['GET', '/v1/nothing-here'],
  ]
  const call = (method: string, path: string, headers: Record<string, string>) =>
    server.call(method, path, method === 'POST' ? { json: fox, headers } : { headers })

  it.each(routes)('%s %s: none', async (method, path) => {
    const answer = call(method, path, {})
    await expectRefused(answer, 'UNAUTHENTICATED', 401)
    expect((await answer).headers.get('www-authenticate')).toBe('Bearer')
  })

  it.each(routes)('%s %s: expired', async (method, path) => {
    const token = await signToken('ada', { exp: seconds() - 60 })
    await expectRefused(call(method, path, { authorization: `Bearer ${token}` }), 'TOKEN_EXPIRED', 401)
  })

  it.each(['', 'Bearer', 'Bearer ', 'Basic YWRhOmFkYQ==', 'Token abc', 'Bearer a b'])(
    'the header “%s”',
    async (authorization) => {
      await expectRefused(call('POST', '/v1/tasks', { authorization }), 'UNAUTHENTICATED', 401)
    },
  )

  it('a token in the address, where logs and histories would keep it', async () => {
    const token = await signToken('ada')
    for (const name of ['token', 'access_token'])
      await expectRefused(call('GET', `/v1/tasks?${name}=${token}`, {}), 'UNAUTHENTICATED', 401)
    expect(server.logLines.join('')).not.toContain(token)
  })

  it.each<[string, () => Promise<string>]>([
    ['signed by somebody else', () => signToken('ada', {}, 'another-secret-of-at-least-32-characters')],
    ['not signed (alg: none)', async () => `${encode({ alg: 'none' })}.${encode(claims())}.`],
    ['of another issuer', () => signToken('ada', { iss: 'https://evil.example' })],
    ['for another audience', () => signToken('ada', { aud: 'anon' })],
    ['without a user', () => signToken('ada', { sub: undefined })],
    ['without an end', () => signToken('ada', { exp: undefined })],
    ['nonsense', async () => 'nonsense'],
    [
      'signed with a key pair of the sender’s own',
      async () => {
        const { privateKey } = await generateKeyPair('ES256')
        return new SignJWT(claims()).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
      },
    ],
  ])('a token %s', async (_, token) => {
    const authorization = `Bearer ${await token()}`
    await expectRefused(call('POST', '/v1/tasks', { authorization }), 'TOKEN_INVALID', 401)
  })
})

describe('somebody else’s anything is not found (S2)', () => {
  const paths = (): [string, string][] => [
    ...[
      bobs.pendingTaskId,
      bobs.runningTaskId,
      bobs.completedTaskId,
      STRANGER,
      'not-an-id',
      '%00',
      '..%2f',
    ].flatMap((id): [string, string][] => [
      ['GET', `/v1/tasks/${id}`],
      ['POST', `/v1/tasks/${id}/cancel`],
      ['POST', `/v1/tasks/${id}/retry`],
    ]),
    ...[bobs.conversationId, STRANGER, 'not-an-id', '%00'].flatMap((id): [string, string][] => [
      ['GET', `/v1/conversations/${id}/messages`],
      ['POST', `/v1/conversations/${id}/read`],
    ]),
  ]

  it('on every route with an id, and it looks the same as what there is not', async () => {
    const details = new Map<string, Set<unknown>>()
    for (const [method, path] of paths()) {
      const answer = ada(method, path)
      await expectRefused(answer, 'NOT_FOUND', 404)
      const { detail } = (await answer).body as { detail: string }
      const kind = path.split('/')[2] ?? ''
      details.set(kind, (details.get(kind) ?? new Set()).add(detail))
    }
    for (const said of details.values()) expect(said.size).toBe(1)
  })

  it('as the conversation of a new task', async () => {
    for (const conversationId of [bobs.conversationId, STRANGER])
      await expectRefused(ada('POST', '/v1/tasks', { json: { ...fox, conversationId } }), 'NOT_FOUND', 404)
  })

  it('as the id of a new conversation', async () => {
    const conversation = { id: bobs.conversationId, title: 'mine now' }
    await expectRefused(ada('POST', '/v1/tasks', { json: { ...fox, conversation } }), 'NOT_FOUND', 404)
    await expectRefused(
      ada('POST', '/v1/conversations', { json: { id: bobs.conversationId, title: 'mine now' } }),
      'NOT_FOUND',
      404,
    )
  })

  it('in a sync: gone, not shown', async () => {
    const { body } = await ada('POST', '/v1/sync', { json: { known: { [bobs.runningTaskId]: [0, null] } } })
    expect(body).toMatchObject({ gone: [bobs.runningTaskId] })
    expect(JSON.stringify(body)).not.toContain('"bob"')
  })
})

describe('paths and methods that there are not', () => {
  it.each([
    ['PUT', '/v1/tasks'],
    ['DELETE', `/v1/tasks/${STRANGER}`],
    ['PATCH', '/v1/sync'],
    ['GET', '/v1/tasks/a/b/c'],
    ['GET', '/v1'],
    ['GET', '/'],
    ['POST', '/dev/login'],
    ['GET', '/v1/tasks/../../etc/passwd'],
  ])('%s %s', async (method, path) => {
    await expectRefused(ada(method, path), 'NOT_FOUND', 404)
  })
})
