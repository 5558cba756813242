import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCreateReply } from './read-create-reply.ts'
import { readQueryReply } from './read-query-reply.ts'
import { readRefreshReply } from './read-refresh-reply.ts'

const now = Date.parse('2026-11-16T08:00:00Z')
const reply = (status: number, body: unknown, headers: Record<string, string> = {}) => ({
  status,
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
})
const create = (status: number, body: unknown, headers?: Record<string, string>) =>
  readCreateReply(reply(status, body, headers), now)
const query = (status: number, body: unknown, headers?: Record<string, string>) =>
  readQueryReply(reply(status, body, headers), 'task_1', now)
const record = (data: Record<string, unknown>) =>
  query(200, { code: 200, data: { taskId: 'task_1', ...data } })
const HTML = '<html><body>502 Bad Gateway</body></html>'

/** Every error in both styles: as the HTTP status, and as a code inside HTTP 200. */
const styles = [
  ['as HTTP status', (code: number) => code],
  ['inside HTTP 200', () => 200],
] as const

for (const [style, statusFor] of styles) {
  test.each([
    [400, 'refused', 'SUBMIT_REFUSED', false],
    [401, 'refused', 'PROVIDER_AUTH', false],
    [402, 'refused', 'PROVIDER_QUOTA', false],
    [403, 'refused', 'PROVIDER_AUTH', false],
    [404, 'refused', 'SUBMIT_REFUSED', false],
    [422, 'refused', 'SUBMIT_REFUSED', false],
    [451, 'refused', 'SUBMIT_REFUSED', false],
    [500, 'refused', 'SUBMIT_REFUSED', true],
    [505, 'refused', 'SUBMIT_REFUSED', false],
  ])(`F8 create: code %i ${style} is %s as %s, retryable %s`, (code, kind, failure, retryable) => {
    expect(create(statusFor(code), { code, msg: 'words', data: null })).toMatchObject({
      kind,
      code: failure,
      retryable,
    })
  })

  test.each([
    [429, 10_000],
    [433, 10_000],
    [455, 30_000],
  ])(`F8 create: code %i ${style} was not accepted, wait %i ms`, (code, retryAfterMs) => {
    expect(create(statusFor(code), { code, msg: '' })).toMatchObject({ kind: 'not-accepted', retryAfterMs })
  })

  test.each([400, 401, 402, 403, 429, 455, 500, 503])(
    `P4 query: code %i ${style} says nothing about the task`,
    (code) => {
      expect(query(statusFor(code), { code, msg: 'words', data: null })).toMatchObject({
        kind: 'inconclusive',
      })
    },
  )

  test.each([
    [422, 'recordInfo is null'],
    [404, 'task not found'],
  ])(`P4 query: code %i ${style} is not found`, (code, msg) => {
    expect(query(statusFor(code), { code, msg, data: null })).toEqual({ kind: 'not-found' })
  })
}

test('F8 create: accepted only if HTTP and code agree and there is an id', () => {
  const accepted = { code: 200, msg: 'success', data: { taskId: 'task_1' } }
  expect(create(200, accepted)).toEqual({ kind: 'accepted', externalId: 'task_1' })
  expect(create(500, accepted).kind).toBe('unknown')
  expect(create(200, { code: 200, data: {} }).kind).toBe('unknown')
  expect(create(200, { code: 200, data: { taskId: '' } }).kind).toBe('unknown')
  expect(create(200, { code: 200, data: { taskId: 'with\u0000nul' } }).kind).toBe('unknown')
  expect(create(200, { code: 200, data: null }).kind).toBe('unknown')
})

test.each([
  [200, HTML],
  [200, '{"code":200,"da'],
  [302, ''],
  [408, ''],
  [500, HTML],
  [502, HTML],
  [503, ''],
  [504, '{"error":"upstream"}'],
])('F8 create: HTTP %i with %j may have been accepted', (status, body) => {
  expect(create(status, body).kind).toBe('unknown')
})

test('F8 create: Retry-After counts in both forms', () => {
  const busy = { code: 429, msg: 'slow down' }
  expect(create(429, busy, { 'retry-after': '4' })).toMatchObject({ retryAfterMs: 4_000 })
  expect(create(200, busy, { 'retry-after': 'Mon, 16 Nov 2026 08:00:05 GMT' })).toMatchObject({
    retryAfterMs: 5_000,
  })
  expect(create(429, HTML)).toMatchObject({ kind: 'not-accepted', retryAfterMs: 10_000 })
})

test('F8 create: a refusal for content is told as such, whatever its code', () => {
  for (const code of [400, 422, 500]) {
    expect(create(200, { code, message: 'Your prompt was flagged by the safety system' })).toMatchObject({
      kind: 'refused',
      code: 'CONTENT_REFUSED',
      retryable: false,
    })
  }
})

test('F8 create: the words of KIE are told, from msg or message, in one line', () => {
  const told =
    'The generation service did not take the request: “bad size”. Check the prompt and the settings, then try again.'
  expect(create(422, { code: 422, msg: 'bad\n size.' })).toMatchObject({ message: told })
  expect(create(200, { code: 422, message: 'bad size' })).toMatchObject({ message: told })
  expect(create(200, { code: 422, msg: 'x'.repeat(5_000) })).toSatisfy(
    (outcome: { message: string }) => outcome.message.length < 400,
  )
})

test.each(['waiting', 'queuing', 'generating', 'polishing', ''])('P4 query: state %j is running', (state) => {
  expect(record({ state })).toEqual({ kind: 'running', progress: null })
})

test.each([
  [37, 37],
  [0, 0],
  [150, 100],
  [-1, 0],
  ['42', 42],
  ['', null],
  ['soon', null],
  [null, null],
  [12.6, 13],
])('P4 query: progress %j is %j', (progress, expected) => {
  expect(record({ state: 'generating', progress })).toEqual({ kind: 'running', progress: expected })
})

const outputs = [
  { url: 'https://x.example/a.png', contentType: 'image/png', urlLifetimeMs: 1_200_000 },
  { url: 'https://x.example/b?c=.mp4', contentType: null, urlLifetimeMs: 1_200_000 },
]
const resultUrls = outputs.map(({ url }) => url)

test('P4 query: a result is read from a string, an object, and beside what is no URL', () => {
  const succeeded = { kind: 'succeeded', outputs }
  expect(record({ state: 'success', resultJson: JSON.stringify({ resultUrls }) })).toEqual(succeeded)
  expect(record({ state: 'success', resultJson: { resultUrls } })).toEqual(succeeded)
  const mixed = ['javascript:alert(1)', 7, null, ...resultUrls, 'file:///etc/passwd', 'a.png']
  expect(record({ state: 'success', resultJson: { resultUrls: mixed } })).toEqual(succeeded)
})

test.each(['', null, undefined, '{"resultUrls":["htt', '[]', '{"resultUrls":[]}', '{"resultObject":{}}', 7])(
  'P4 query: success with resultJson %j waits a little, then is unreadable',
  (resultJson) => {
    const at = (completeTime: unknown) => record({ state: 'success', resultJson, completeTime })
    expect(at(now - 5_000)).toMatchObject({ kind: 'inconclusive' })
    expect(at(null)).toMatchObject({ kind: 'inconclusive' })
    expect(at(now - 121_000)).toMatchObject({ kind: 'failed', code: 'RESULT_UNREADABLE', retryable: true })
  },
)

test('P4 query: failures say whether trying again may help', () => {
  expect(record({ state: 'fail', failCode: '500', failMsg: 'Internal error' })).toEqual({
    kind: 'failed',
    code: 'PROVIDER_FAILED',
    message: 'The generation failed at the service: “Internal error”. Try again.',
    retryable: true,
  })
  expect(record({ state: 'fail', failCode: 422, failMsg: 'image too small' })).toMatchObject({
    code: 'PROVIDER_FAILED',
    retryable: false,
  })
  expect(record({ state: 'fail', failMsg: 'This violates our content policies' })).toMatchObject({
    code: 'CONTENT_REFUSED',
    retryable: false,
  })
  expect(record({ state: 'fail' })).toMatchObject({ code: 'PROVIDER_FAILED', retryable: true })
  expect(query(200, { code: 501, msg: 'Generation failed', data: null })).toMatchObject({
    kind: 'failed',
    code: 'PROVIDER_FAILED',
  })
})

test("P4 query: another task's record is never taken for ours", () => {
  const other = { taskId: 'task_2', state: 'success', resultJson: { resultUrls } }
  expect(query(200, { code: 200, data: other })).toMatchObject({ kind: 'inconclusive' })
})

test.each([
  [200, HTML],
  [200, ''],
  [200, 'null'],
  [200, '{"code":200}'],
  [200, '{"code":200,"data":"success"}'],
  [302, ''],
  [404, HTML],
  [404, '{"status":404,"error":"Not Found"}'],
  [422, HTML],
  [501, HTML],
  [502, HTML],
])('P4 query: HTTP %i with %j says nothing about the task', (status, body) => {
  expect(query(status, body)).toMatchObject({ kind: 'inconclusive' })
})

const status = fc.oneof(fc.integer({ min: 200, max: 599 }), fc.constantFrom(200, 404, 422, 429, 500, 501))
const code = fc.oneof(fc.constantFrom<unknown>(200, '200', 404, 422, 500, 501), fc.jsonValue())
const data = fc.record(
  {
    taskId: fc.oneof(fc.constant('task_1'), fc.jsonValue()),
    state: fc.oneof(fc.constantFrom('waiting', 'generating', 'success', 'fail'), fc.jsonValue()),
    resultJson: fc.oneof(fc.json(), fc.jsonValue(), fc.record({ resultUrls: fc.array(fc.webUrl()) })),
    completeTime: fc.oneof(fc.constantFrom(now, 1), fc.jsonValue()),
    failCode: fc.jsonValue(),
    failMsg: fc.jsonValue(),
    progress: fc.jsonValue(),
  },
  { requiredKeys: [] },
)
const envelope = fc.record({ code, msg: fc.jsonValue(), data: fc.oneof(data, fc.jsonValue()) })
const body = fc.oneof(
  fc.string(),
  fc.json(),
  envelope.map((value) => JSON.stringify(value)),
  envelope.map((value) => JSON.stringify(value).slice(0, -2)),
)
const headers = fc.constantFrom<Record<string, string>>({}, { 'retry-after': '3' }, { 'retry-after': 'x' })

test('P4 no reply makes a query throw, succeed without URLs, or fail unless KIE itself says so', () => {
  fc.assert(
    fc.property(status, body, headers, (statusCode, text, fields) => {
      const outcome = readQueryReply({ status: statusCode, headers: fields, body: text }, 'task_1', now)
      if (outcome.kind === 'succeeded') {
        expect(outcome.outputs.length).toBeGreaterThan(0)
        for (const { url } of outcome.outputs) expect(url).toMatch(/^https?:\/\//i)
      }
      if (outcome.kind === 'failed') {
        const said = JSON.parse(text)
        expect(String(said.code)).toMatch(/^(200|501)$/)
        expect(said.code === 501 || said.data.state === 'fail' || said.data.state === 'success').toBe(true)
        expect(outcome.message).not.toBe('')
      }
      if (outcome.kind === 'running' && outcome.progress !== null) {
        expect(outcome.progress).toBeGreaterThanOrEqual(0)
        expect(outcome.progress).toBeLessThanOrEqual(100)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('F8 no reply makes a create throw, and only a clear yes is accepted', () => {
  fc.assert(
    fc.property(status, body, headers, (statusCode, text, fields) => {
      const outcome = readCreateReply({ status: statusCode, headers: fields, body: text }, now)
      if (outcome.kind === 'accepted') {
        const said = JSON.parse(text)
        expect(statusCode).toBeLessThan(300)
        expect(String(said.code)).toBe('200')
        expect(said.data.taskId).toBe(outcome.externalId)
      }
      // A proxy's 5xx never becomes a reason to send again, nor a refusal.
      if (statusCode >= 500 && !text.startsWith('{')) expect(outcome.kind).toBe('unknown')
    }),
    { numRuns: 2_000 },
  )
})

test.each<[string, number, unknown, string]>([
  ['a link', 200, { code: 200, data: 'https://file.example/a.png?x=1' }, 'refreshed'],
  ['no link', 200, { code: 200, data: null }, 'inconclusive'],
  ['something else than a link', 200, { code: 200, data: 'file:///etc/passwd' }, 'inconclusive'],
  ['code 422', 200, { code: 422, msg: 'not ours' }, 'gone'],
  ['code 404', 404, { code: 404, msg: 'no such file' }, 'gone'],
  ['code 401', 401, { code: 401, msg: 'no' }, 'inconclusive'],
  ['code 429', 200, { code: 429, msg: 'slower' }, 'inconclusive'],
  ['code 500', 500, { code: 500, msg: 'oh' }, 'inconclusive'],
  ["a proxy's 404", 404, HTML, 'inconclusive'],
  ["a proxy's page", 200, HTML, 'inconclusive'],
])('O3 refresh: %s', (_, status, body, kind) => {
  expect(readRefreshReply(reply(status, body)).kind).toBe(kind)
})

test('O3 refresh: whatever comes, it is one of the three', () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), fc.json(), (status, body) => {
      expect(['refreshed', 'gone', 'inconclusive']).toContain(readRefreshReply(reply(status, body)).kind)
    }),
  )
})
