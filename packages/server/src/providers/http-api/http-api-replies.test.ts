import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import type { SmallReply } from '../../../test/small-server.ts'
import { startHttpApi } from '../../../test/start-http-api.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const now = Date.parse('2026-11-16T08:00:00Z')
const never = new AbortController().signal
const request = { taskId: 't', type: 'image', params: { prompt: 'a cat' } }
const HTML: SmallReply = {
  status: 502,
  headers: { 'content-type': 'text/html' },
  body: '<html>Bad Gateway</html>',
}

async function setUp(...[answer, options]: Parameters<typeof startHttpApi>) {
  const started = await startHttpApi(answer, { now: () => now, ...options })
  cleanups.push(
    () => started.server.close(),
    () => started.api.close(),
  )
  return started
}

describe('F8 a create', () => {
  const words = { error: 'the picture is too small' }
  test.each<[string, SmallReply | null, object]>([
    ['a cut', null, { kind: 'unknown' }],
    ["a proxy's page", HTML, { kind: 'unknown' }],
    ['a 200 of a proxy', { ...HTML, status: 200 }, { kind: 'unknown' }],
    ['a reply that breaks off', { body: '{"id":"job' }, { kind: 'unknown' }],
    ['a reply without an id', { json: {} }, { kind: 'unknown' }],
    ['an id that no URL can carry', { json: { id: 'a b' } }, { kind: 'unknown' }],
    ['a redirect', { status: 302, headers: { location: '/elsewhere' } }, { kind: 'unknown' }],
    ['a time-out on the way', { status: 408, json: words }, { kind: 'unknown' }],
    ['a 500 of the vendor', { status: 500, json: words }, { kind: 'unknown' }],
    ['a bare 503', { status: 503 }, { kind: 'unknown' }],
    ['a 400', { status: 400, json: words }, { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false }],
    ['a wrong key', { status: 401, json: words }, { kind: 'refused', code: 'PROVIDER_AUTH' }],
    ['an empty account', { status: 402 }, { kind: 'refused', code: 'PROVIDER_QUOTA' }],
    ['a 403', { status: 403, json: words }, { kind: 'refused', code: 'PROVIDER_AUTH' }],
    [
      'a 403 for content',
      { status: 403, json: { detail: 'flagged by moderation' } },
      { kind: 'refused', code: 'CONTENT_REFUSED', retryable: false },
    ],
    [
      '429 with seconds',
      { status: 429, headers: { 'retry-after': '7' } },
      { kind: 'not-accepted', retryAfterMs: 7_000 },
    ],
    [
      '429 with a date',
      { status: 429, headers: { 'retry-after': 'Mon, 16 Nov 2026 08:00:05 GMT' } },
      { kind: 'not-accepted', retryAfterMs: 5_000 },
    ],
    ['429 without advice', { status: 429 }, { kind: 'not-accepted', retryAfterMs: 10_000 }],
  ])('answered with %s', async (_what, reply, outcome) => {
    const { api, requests } = await setUp(reply)
    expect(await api.create(request, never)).toMatchObject(outcome)
    expect(requests).toHaveLength(1)
  })

  test.each([
    { error: 'too small' },
    { error: { message: 'too small', code: 7 } },
    { message: 'too small' },
    { detail: 'too small' },
    { detail: [{ loc: ['body'], msg: 'too small' }] },
    { detail: ['too small'] },
  ])('tells the words in %j', async (json) => {
    const { api } = await setUp({ status: 422, json })
    expect(await api.create(request, never)).toMatchObject({
      message: expect.stringContaining('“too small”'),
    })
  })

  test('that cannot be made is refused, and nothing is sent', async () => {
    const { api, requests } = await setUp(
      { json: {} },
      {
        create() {
          throw new RangeError('no such size')
        },
      },
    )
    expect(await api.create(request, never)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('RangeError: no such size'),
    })
    expect(requests).toEqual([])
  })

  test('that is refused by the mapping says what it was told', async () => {
    const { api, requests } = await setUp({ json: {} }, { create: () => ({ refuse: 'Not on Sundays.' }) })
    expect(await api.create(request, never)).toEqual({
      kind: 'refused',
      code: 'SUBMIT_REFUSED',
      message: 'Not on Sundays.',
      retryable: false,
    })
    expect(requests).toEqual([])
  })

  test('at a vendor that is away was not accepted', async () => {
    const { api, server } = await setUp({ json: {} })
    await server.close()
    expect(await api.create(request, never)).toMatchObject({ kind: 'not-accepted', retryAfterMs: null })
    expect(await api.query('job-1', never)).toMatchObject({ kind: 'inconclusive' })
    expect(await api.cancel?.('job-1', never)).toBe(false)
  })
})

describe('P4 a query', () => {
  test.each<[string, SmallReply | null, object]>([
    ['a cut', null, { kind: 'inconclusive', retryAfterMs: null }],
    ["a proxy's page", HTML, { kind: 'inconclusive', retryAfterMs: null }],
    ["a proxy's 404", { ...HTML, status: 404 }, { kind: 'inconclusive' }],
    ['a bare 404', { status: 404 }, { kind: 'inconclusive' }],
    ["the vendor's 404", { status: 404, json: { error: 'no such job' } }, { kind: 'not-found' }],
    ["the vendor's 410", { status: 410, json: { detail: 'gone' } }, { kind: 'not-found' }],
    ['a wrong key', { status: 401, json: { error: 'who are you' } }, { kind: 'inconclusive' }],
    ['a reply that breaks off', { body: '{"progress":' }, { kind: 'inconclusive' }],
    ['null', { body: 'null' }, { kind: 'inconclusive' }],
    [
      '429 with seconds',
      { status: 429, headers: { 'retry-after': '7' } },
      { kind: 'inconclusive', retryAfterMs: 7_000 },
    ],
    ['429 without advice', { status: 429 }, { kind: 'inconclusive', retryAfterMs: 10_000 }],
    [
      '503 with seconds',
      { status: 503, headers: { 'retry-after': '7' } },
      { kind: 'inconclusive', retryAfterMs: 7_000 },
    ],
    ['progress beyond the end', { json: { progress: 250 } }, { kind: 'running', progress: 100 }],
    ['progress that is no number', { json: { progress: 'soon' } }, { kind: 'running', progress: null }],
    [
      'results among other things',
      { json: { urls: ['https://x.example/a.png', 'javascript:alert(1)', 7] } },
      {
        kind: 'succeeded',
        outputs: [{ url: 'https://x.example/a.png', contentType: 'image/png', urlLifetimeMs: 3_600_000 }],
      },
    ],
  ])('answered with %s', async (_what, reply, outcome) => {
    const { api } = await setUp(reply)
    expect(await api.query('job-1', never)).toMatchObject(outcome)
  })

  test('that finds success without a result waits for it, and not for ever', async () => {
    let time = now
    const { api } = await setUp(
      (_request, nth) => ({ json: { urls: nth === 2 ? ['https://x.example/a'] : [] } }),
      {
        now: () => time,
      },
    )
    expect(await api.query('job-1', never)).toMatchObject({ kind: 'inconclusive' })
    expect(await api.query('job-1', never)).toMatchObject({ kind: 'succeeded' })
    expect(await api.query('job-2', never)).toMatchObject({ kind: 'inconclusive' })
    time += 119_999
    expect(await api.query('job-2', never)).toMatchObject({ kind: 'inconclusive' })
    time += 1
    expect(await api.query('job-2', never)).toMatchObject({ kind: 'failed', code: 'RESULT_UNREADABLE' })
    expect(await api.query('job-1', never)).toMatchObject({ kind: 'inconclusive' })
  })

  test('after a cancel takes not found for cancelled', async () => {
    const { api } = await setUp(({ method }) =>
      method === 'DELETE' ? { status: 204 } : { status: 404, json: { error: 'no such job' } },
    )
    expect(await api.query('job-1', never)).toEqual({ kind: 'not-found' })
    expect(await api.cancel?.('job-1', never)).toBe(true)
    expect(await api.query('job-1', never)).toEqual({ kind: 'cancelled' })
    expect(await api.query('job-2', never)).toEqual({ kind: 'not-found' })
  })
})

test('P4 F8 whatever a vendor answers, nothing throws and only a clear yes counts', async () => {
  let reply: SmallReply = {}
  const { api } = await setUp(() => reply)
  const body = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .record(
        { id: fc.jsonValue(), urls: fc.array(fc.jsonValue()), error: fc.jsonValue() },
        { requiredKeys: [] },
      )
      .map((value) => JSON.stringify(value)),
  )
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 200, max: 599 }), body, async (status, text) => {
      reply = { status: [204, 205, 304].includes(status) ? 200 : status, body: text }
      const created = await api.create(request, never)
      const queried = await api.query('job-1', never)
      if (created.kind === 'accepted') expect(reply.status).toBeLessThan(300)
      if (created.kind === 'refused' || created.kind === 'not-accepted') {
        expect(reply.status).toBeGreaterThanOrEqual(400)
        expect(reply.status).toBeLessThan(500)
      }
      if (queried.kind === 'succeeded') expect(queried.outputs.length).toBeGreaterThan(0)
      if (queried.kind === 'failed') expect(queried.code).toBe('RESULT_UNREADABLE')
    }),
    { numRuns: 200 },
  )
})
