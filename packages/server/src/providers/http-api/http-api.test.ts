import fc from 'fast-check'
import { Pool } from 'undici'
import { afterEach, expect, test } from 'vitest'
import { type SmallReply, startSmallServer } from '../../../test/small-server.ts'
import { smallMapping, startHttpApi, TEST_KEY } from '../../../test/start-http-api.ts'
import { createHttpApi } from './http-api.ts'

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

test('F8 P4 a call goes below the base URL, with the key and who we are', async () => {
  const { api, requests } = await setUp({ json: { id: 'job-1', progress: 40 } })
  expect(await api.create(request, never)).toEqual({ kind: 'accepted', externalId: 'job-1' })
  expect(await api.query('job 1', never)).toEqual({ kind: 'running', progress: 40 })
  expect(await api.cancel?.('job-1', never)).toBe(true)
  await api.refresh?.({ externalId: 'job-1', url: 'https://x.example', ordinal: 0 }, never)
  expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /v1/jobs',
    'GET /v1/jobs/job%201',
    'DELETE /v1/jobs/job-1',
    'GET /v1/jobs/job-1?fresh=true',
  ])
  for (const { headers } of requests) {
    expect(headers).toMatchObject({
      authorization: `Bearer ${TEST_KEY}`,
      'user-agent': expect.stringMatching(/^Holdfast\//),
    })
  }
  expect(JSON.parse(requests[0]?.body ?? '')).toEqual(request.params)
})

test.each([
  [{ headers: { 'X-Api-Key': TEST_KEY } }, { 'x-api-key': TEST_KEY, authorization: undefined }],
  [{ headers: { Authorization: `Key ${TEST_KEY}` } }, { authorization: `Key ${TEST_KEY}` }],
  [{ headers: { 'x-version': '2' } }, { authorization: `Bearer ${TEST_KEY}`, 'x-version': '2' }],
  [{ apiKey: undefined }, { authorization: undefined }],
])('the key is sent once, as %j says', async (options, headers) => {
  const { api, requests } = await setUp({ json: {} }, options)
  await api.query('job-1', never)
  const sent = requests[0]?.headers ?? {}
  for (const [name, value] of Object.entries(headers)) expect(sent[name]).toBe(value)
})

test.each<[SmallReply | null, boolean]>([
  [{ status: 202 }, true],
  [{ status: 404, json: { error: 'no such job' } }, true],
  [{ status: 404 }, false],
  [{ status: 409, json: { error: 'too late' } }, false],
  [HTML, false],
  [null, false],
])('Q9 a cancel answered with %j is taken: %s', async (reply, taken) => {
  const { api } = await setUp(reply)
  expect(await api.cancel?.('job-1', never)).toBe(taken)
})

const file = { externalId: 'job-1', url: 'https://x.example/old', ordinal: 1 }

test.each<[SmallReply | null, object]>([
  [
    { json: { urls: ['https://x.example/a', 'https://x.example/b'] } },
    { kind: 'refreshed', url: 'https://x.example/b', urlLifetimeMs: 3_600_000 },
  ],
  [{ json: { urls: ['https://x.example/a'] } }, { kind: 'gone' }],
  [{ status: 404, json: { error: 'no such job' } }, { kind: 'gone' }],
  [{ json: { progress: 3 } }, { kind: 'inconclusive' }],
  [HTML, { kind: 'inconclusive' }],
  [null, { kind: 'inconclusive' }],
])('O3 a refresh answered with %j is %j', async (reply, outcome) => {
  const { api } = await setUp(reply)
  expect(await api.refresh?.(file, never)).toMatchObject(outcome)
})

test('O3 a refresh of its own kind is read by its own function', async () => {
  const { api } = await setUp(
    (_request, nth) => ({ json: nth === 1 ? { link: 'https://x.example/new' } : null }),
    {
      readRefresh: ({ json }: { json: unknown }) => ({
        kind: 'refreshed',
        url: (json as { link: string }).link,
        urlLifetimeMs: 5,
      }),
    },
  )
  expect(await api.refresh?.(file, never)).toEqual({
    kind: 'refreshed',
    url: 'https://x.example/new',
    urlLifetimeMs: 5,
  })
  expect(await api.refresh?.(file, never)).toMatchObject({ kind: 'inconclusive' })
})

test('what is not given is not there', async () => {
  const { cancel: _cancel, refresh: _refresh, ...least } = smallMapping
  const api = createHttpApi({ name: 'acme', baseUrl: 'https://api.acme.example', ...least })
  cleanups.push(() => api.close())
  for (const part of ['cancel', 'refresh', 'sourceHeaders', 'readWebhook', 'find']) {
    expect(api).not.toHaveProperty(part)
  }
})

test('S3 the key goes to the origin of the API only', async () => {
  const { api, server } = await setUp({ json: {} }, { sourceHeaders: () => ({ authorization: TEST_KEY }) })
  expect(api.sourceHeaders?.(`${server.url}/files/1`)).toEqual({ authorization: TEST_KEY })
  expect(api.sourceHeaders?.('https://elsewhere.example/files/1')).toEqual({})
  expect(api.sourceHeaders?.('no url')).toEqual({})
})

test('S3 a key that the vendor echoes is in no outcome, not even a part of it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 300 }),
      fc.constantFrom(200, 400, 401, 422, 429, 500),
      async (padding, status) => {
        const { api, server } = await setUp({
          status,
          json: { error: `${'x'.repeat(padding)} ${TEST_KEY} is wrong` },
        })
        const said = JSON.stringify([
          await api.create(request, never),
          await api.query('job-1', never),
          await api.refresh?.(file, never),
        ])
        expect(said).not.toContain(TEST_KEY.slice(0, 8))
        await api.close()
        await server.close()
      },
    ),
    { numRuns: 30 },
  )
})

test('S2 a webhook that cannot be read is unreadable, not an exception', async () => {
  const { api } = await setUp(
    { json: {} },
    {
      readWebhook({ body }: { body: Uint8Array }) {
        const { id } = JSON.parse(Buffer.from(body).toString()) as { id: string }
        return { kind: 'about', externalId: id, deliveryId: null, isSigned: false }
      },
    },
  )
  const read = (text: string) =>
    api.readWebhook?.({ headers: {}, body: new Uint8Array(Buffer.from(text)), receivedAtMs: now })
  expect(await read('{"id":"job-1"}')).toMatchObject({ kind: 'about', externalId: 'job-1' })
  expect(await read('{')).toMatchObject({ kind: 'unreadable' })
})

test('F8 a search asks as often as it likes, and learns nothing where it breaks', async () => {
  const { api, requests } = await setUp((_request, nth) => (nth < 3 ? { json: { page: nth } } : null), {
    find: async (_request: unknown, ask: (call: { path: string }) => Promise<{ json: unknown } | null>) => {
      const pages = [await ask({ path: '/1' }), await ask({ path: '/2' })]
      if (pages.some((page) => page === null)) throw new Error('a page is missing')
      return { kind: 'found', externalId: 'job-1' }
    },
  })
  const search = { ...request, sentAtMs: now }
  expect(await api.find?.(search, never)).toEqual({ kind: 'found', externalId: 'job-1' })
  expect(await api.find?.(search, never)).toMatchObject({ kind: 'inconclusive' })
  expect(requests).toHaveLength(4)
})

test('bytes and other headers go out as they are', async () => {
  const { api, requests } = await setUp(
    { json: { id: 'job-1' } },
    {
      create: () => ({
        path: '/jobs',
        body: new Uint8Array([104, 105]),
        headers: { 'content-type': 'text/plain' },
      }),
    },
  )
  await api.create(request, never)
  expect(requests[0]).toMatchObject({ method: 'POST', body: 'hi', headers: { 'content-type': 'text/plain' } })
})

test('an injected pool is used and left open', async () => {
  const server = await startSmallServer(() => ({ json: { progress: 1 } }))
  const pool = new Pool(server.url)
  cleanups.push(
    () => server.close(),
    () => pool.destroy(),
  )
  const api = createHttpApi({ name: 'acme', baseUrl: 'https://elsewhere.invalid', pool, ...smallMapping })
  expect(await api.query('job-1', never)).toEqual({ kind: 'running', progress: 1 })
  await api.close()
  expect(pool.closed).toBe(false)
})

test.each([
  [{ baseUrl: 'acme.example' }, 'is not an http(s) URL'],
  [{ apiKey: '' }, 'The API key for acme is empty'],
  [{ apiKey: 'schlüssel' }, 'characters that no header can carry'],
  [{ headers: { 'x-team': 'Größe' } }, 'The header x-team for acme'],
  [{ name: 'A C M E' }, 'cannot name a provider'],
  [{ limits: { create: { perSecond: 0, inFlight: 1 } } }, 'create.perSecond'],
])('S3 what cannot work is refused at once: %j', (options, message) => {
  const start = () =>
    createHttpApi({ name: 'acme', baseUrl: 'https://api.acme.example', ...smallMapping, ...options })
  expect(start).toThrow(message)
})
