import { request } from 'node:http'
import { PROBLEMS, type Problem } from '@holdfast/shared'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dumpTables } from '../../test/dump-tables.ts'
import { createScriptedProvider, type ScriptedProvider } from '../../test/scripted-provider.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { type Seeded, seedUser } from '../../test/seed-user.ts'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { signToken } from '../../test/test-tokens.ts'

const RUNS = 400
const SECRET = 'hush-this-must-not-be-seen'

let server: TestHoldfast
let token: string
let adminToken: string
let provider: ScriptedProvider
let ids: string[]
beforeAll(async () => {
  provider = createScriptedProvider()
  server = await startTestHoldfast({
    engineRuns: true,
    providers: [provider],
    types: scriptedTypes(provider.name, { credits: 4 }),
    credits: { initial: 1_000 },
  })
  token = await signToken('ada')
  adminToken = await signToken('root', { app_metadata: { role: 'admin' } })
  const own: Seeded = await seedUser(server.sql, 'ada')
  const others: Seeded = await seedUser(server.sql, 'bob')
  ids = [...Object.values(own), ...Object.values(others)]
})
afterAll(() => server.stop())

const anyString = fc.string({ unit: 'binary', maxLength: 30 })
const knownId = fc.oneof(
  fc.nat().map((n) => ids[n % ids.length] ?? ''),
  fc.uuid(),
)
const anyId = fc.oneof(knownId, anyString)
/** As a path segment: encoded as it should be, or as it should not. */
const segment = fc.oneof(
  anyId.map((id) => encodeURIComponent(id.toWellFormed())),
  fc.constantFrom('%', '%ff', '%00', '..', '.', '%2e%2e', '//', '%F0%9F', 'ø'),
)
const route = fc.oneof(
  fc.constantFrom(
    '/v1/tasks',
    '/v1/sync',
    '/v1/stream',
    '/v1/conversations',
    '/v1/credits',
    '/v1/admin/credits/audit',
    '/v1/admin/credits/refunds',
    '/v1/admin/credits/grants',
    '/healthz',
    '/readyz',
    '/',
    '/v1',
    '/dev/login',
  ),
  segment.map((id) => `/v1/tasks/${id}`),
  fc
    .tuple(segment, fc.constantFrom('cancel', 'retry', 'save', ''))
    .map(([id, what]) => `/v1/tasks/${id}/${what}`),
  fc
    .tuple(segment, fc.constantFrom('messages', 'read'))
    .map(([id, what]) => `/v1/conversations/${id}/${what}`),
  fc.array(segment, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`),
)
const query = fc
  .dictionary(
    fc.oneof(
      fc.constantFrom('status', 'limit', 'cursor', 'conversationId', 'userId', 'taskId', '__proto__'),
      anyString,
    ),
    fc.oneof(fc.constantFrom('all', 'active', '10', '-1', '1e9', ''), anyId),
    { maxKeys: 4 },
  )
  .map((entries) => {
    const text = new URLSearchParams(
      Object.entries(entries).map(([name, value]) => [name.toWellFormed(), value.toWellFormed()]),
    ).toString()
    return text === '' ? '' : `?${text}`
  })

const json = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' })
/** The documented fields with documented, nearly documented and absurd values. */
const taskFields = {
  type: fc.oneof({ weight: 4, arbitrary: fc.constant('image') }, { weight: 1, arbitrary: anyString }),
  params: fc.oneof(
    fc.record({ prompt: fc.oneof(fc.string({ minLength: 1 }), anyString) }).map((params) => ({
      ...params,
      api_key: SECRET,
      nested: [{ Password: SECRET }],
    })),
    json,
  ),
  conversationId: fc.oneof({ weight: 1, arbitrary: anyId }, { weight: 2, arbitrary: fc.constant(null) }),
  placeholderId: fc.oneof(anyString, fc.constant(null)),
  metadata: fc.oneof(fc.constant({ access_token: SECRET }), json),
}
const taskBody = fc.oneof(
  { weight: 2, arbitrary: fc.record(taskFields, { requiredKeys: [] }) },
  { weight: 2, arbitrary: fc.record(taskFields, { requiredKeys: ['type', 'params'] }) },
  {
    weight: 1,
    arbitrary: fc.record(
      { ...taskFields, conversation: fc.oneof(fc.record({ id: anyId, title: anyString }), json) },
      { requiredKeys: ['conversation'] },
    ),
  },
  // Which users may not say, so that none of these is ever created.
  {
    weight: 1,
    arbitrary: fc.record(
      { ...taskFields, priority: fc.oneof(fc.constantFrom('low', 'urgent'), json) },
      { requiredKeys: ['priority'] },
    ),
  },
)
const syncBody = fc.record(
  {
    known: fc.oneof(
      {
        weight: 3,
        arbitrary: fc.dictionary(
          knownId,
          fc.tuple(
            fc.maxSafeNat(),
            fc.oneof(fc.double({ min: 0, max: 100, noNaN: true }), fc.constant(null)),
          ),
          { maxKeys: 4 },
        ),
      },
      { weight: 1, arbitrary: fc.dictionary(anyId, fc.tuple(fc.integer(), json)) },
      { weight: 1, arbitrary: json },
    ),
    cursor: fc.oneof(
      { weight: 3, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String) },
      { weight: 1, arbitrary: fc.oneof(anyString, json) },
    ),
  },
  { requiredKeys: [] },
)
const conversationBody = fc.record(
  {
    id: fc.oneof(anyId, json),
    title: fc.oneof(anyString, fc.string({ minLength: 190, maxLength: 210 }), json),
  },
  { requiredKeys: [] },
)
const refundBody = fc.record(
  { taskId: fc.oneof(anyId, json), reason: fc.oneof(anyString, fc.string({ minLength: 1 }), json) },
  { requiredKeys: [] },
)
const grantBody = fc.record(
  {
    userId: fc.oneof(fc.constantFrom('ada', 'bob'), anyString, json),
    amount: fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.double(), fc.maxSafeInteger(), json),
    reason: fc.oneof(fc.string({ minLength: 1 }), anyString, json),
  },
  { requiredKeys: [] },
)
const body = fc.oneof(
  fc
    .oneof(taskBody, syncBody, conversationBody, refundBody, grantBody, json)
    .map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '{"__proto__": {"type": "image"}}',
    '{"known": {"__proto__": [1, null]}}',
    '[',
    '1e999',
    '',
  ),
  anyString,
  fc.uint8Array({ maxLength: 50 }),
)
/** What HTTP lets stand in a header. */
const headerValue = fc.string({
  unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
  maxLength: 40,
})
const headers = fc.record(
  {
    'content-type': fc.oneof(
      { weight: 5, arbitrary: fc.constant('application/json') },
      { weight: 1, arbitrary: fc.constantFrom('application/json; charset=utf-7', 'text/plain') },
      { weight: 1, arbitrary: headerValue },
    ),
    'idempotency-key': fc.oneof(fc.constantFrom('a', 'b'), headerValue),
    'last-event-id': fc.oneof(fc.nat().map(String), headerValue),
    traceparent: fc.oneof(
      fc.constant('00-0123456789abcdef0123456789abcdef-0123456789abcdef-01'),
      headerValue,
    ),
    origin: headerValue,
    accept: headerValue,
    'x-holdfast-browser': headerValue,
    'content-length': fc.oneof(fc.nat(1_000_000).map(String), headerValue),
    'transfer-encoding': fc.constantFrom('chunked', 'gzip'),
    range: headerValue,
    'if-none-match': headerValue,
    cookie: headerValue,
  },
  { requiredKeys: [] },
)
const method = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('GET', 'POST') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND', 'QUERY', 'x'),
  },
)

interface Generated {
  method: string
  path: string
  headers: Record<string, string | undefined>
  body: string | Uint8Array
}
const generated: fc.Arbitrary<Generated> = fc.oneof(
  fc.tuple(method, route, query, headers, body).map(([verb, path, asked, given, sent]) => ({
    method: verb,
    path: path + asked,
    headers: given,
    body: sent,
  })),
  // Straight at the routes that write, so that many get past the first check.
  fc
    .tuple(
      fc.constantFrom<[string, fc.Arbitrary<unknown>]>(
        ['/v1/tasks', taskBody],
        ['/v1/sync', syncBody],
        ['/v1/conversations', conversationBody],
        ['/v1/admin/credits/refunds', refundBody],
        ['/v1/admin/credits/grants', grantBody],
      ),
      headers,
    )
    .chain(([[path, of], given]) =>
      of.map((value) => ({
        method: 'POST',
        path,
        headers: { ...given, 'content-type': 'application/json', 'content-length': undefined },
        body: JSON.stringify(value),
      })),
    ),
)

async function send({ method, path, headers, body }: Generated): Promise<Response> {
  const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const withBody = method !== 'GET' && method !== 'HEAD'
  return server.holdfast.app.request(`http://localhost${path}`, {
    method,
    headers: [...given, ['authorization', `Bearer ${path.startsWith('/v1/admin') ? adminToken : token}`]],
    ...(withBody ? { body: typeof body === 'string' ? body : new Uint8Array(body) } : {}),
  })
}

async function expectDecent(response: Response, hasBody: boolean): Promise<void> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel()
    return
  }
  const text = await response.text()
  expect(response.status).not.toBe(500)
  expect(response.headers.get('x-trace-id')).toMatch(/^[0-9a-f]{32}$/)
  expect(text).not.toContain(token)
  expect(text).not.toContain(adminToken)
  if (response.status < 400 || !hasBody) return
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  const problem: Problem = JSON.parse(text)
  expect(PROBLEMS[problem.code]).toMatchObject({ status: response.status, title: problem.title })
  expect(problem).toMatchObject({ status: response.status, detail: expect.stringMatching(/./) })
  expect(problem.traceId).toBe(response.headers.get('x-trace-id'))
}

describe('generated requests with a good token', () => {
  it('never get a 500, and every refusal is a problem with its code and trace id', async () => {
    const statuses = new Map<number, number>()
    await fc.assert(
      fc.asyncProperty(generated, async (asked) => {
        const response = await send(asked)
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
        await expectDecent(response, asked.method !== 'HEAD')
      }),
      { numRuns: RUNS },
    )
    // The generator must reach what it is meant to: answers that worked as well as every kind of refusal.
    for (const status of [200, 201, 400, 404])
      expect(statuses.get(status) ?? 0, String(status)).toBeGreaterThan(5)
  }, 120_000)

  it('leave neither the token nor a secret parameter in the log or the database', async () => {
    const log = server.logLines.join('')
    expect(server.logLines.length).toBeGreaterThan(RUNS)
    const rows = (await dumpTables(server.sql)).join('\n')
    for (const hidden of [token, token.split('.')[2] ?? '?', adminToken, SECRET]) {
      expect(log).not.toContain(hidden)
      expect(rows).not.toContain(hidden)
    }
    expect(log).not.toContain('unexpected error')
    expect(JSON.stringify(provider.creates)).not.toContain(SECRET)
  })
})

describe('odd requests over a real connection', () => {
  it.each<[string, string, Record<string, string>]>([
    ['TRACE', '/v1/tasks', {}],
    ['PROPFIND', '/v1/tasks', {}],
    ['GET', '/v1/tasks/%', {}],
    ['GET', '//evil.example/v1/tasks', {}],
    ['GET', '/v1/tasks', { host: 'a b' }],
    ['GET', '/v1/tasks', { host: '' }],
    ['GET', '/v1/tasks', { host: 'localhost/../' }],
    ['GET', '/v1/tasks', { host: 'x'.repeat(5_000) }],
    ['POST', '/v1/tasks', { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
  ])('%s %s with %j', async (verb, path, more) => {
    const url = new URL(await server.listen())
    const status = await new Promise<number>((resolve, reject) => {
      const call = request(
        {
          host: url.hostname,
          port: url.port,
          method: verb,
          path,
          headers: { authorization: `Bearer ${token}`, ...more },
        },
        (response) => {
          response.resume()
          response.on('end', () => resolve(response.statusCode ?? 0))
        },
      )
      call.on('error', reject)
      call.end(verb === 'POST' ? '{' : undefined)
    })
    expect(status).toBeGreaterThanOrEqual(200)
    expect(status).toBeLessThan(500)
  })
})
