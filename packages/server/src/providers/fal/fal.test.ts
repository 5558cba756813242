import { createPrivateKey, sign } from 'node:crypto'
import { createServer } from 'node:http'
import { createFalClient } from '@fal-ai/client'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { receiveWebhooks } from '../../../test/receive-webhooks.ts'
import { appOf, fromExternalId, isModel, toExternalId } from './external-id.ts'
import { createFal, type FalOptions } from './fal.ts'
import { readFalError } from './read-fal-error.ts'
import { readFalResult } from './read-fal-result.ts'
import { readFalStatus } from './read-fal-status.ts'
import { signedMessage } from './read-fal-webhook.ts'
import { type FalSimulatorOptions, startFalSimulator } from './simulator/start-fal-simulator.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const never = new AbortController().signal
const MODEL = 'fal-ai/kling-video/v3/pro/text-to-video'
const models = { image: 'fal-ai/flux/dev', video: MODEL }

async function setUp(options: FalSimulatorOptions = {}, more: Partial<FalOptions> = {}) {
  const clock = { now: Date.parse('2026-11-16T08:00:00Z') }
  const now = () => clock.now
  const simulator = await startFalSimulator({ now, random: () => 0.5, ...options })
  cleanups.push(() => simulator.close())
  const { url: baseUrl, keysUrl } = simulator
  /** As after a restart: nothing is remembered. */
  const open = () => {
    const provider = createFal({ apiKey: 'fal-key', baseUrl, keysUrl, models, now, ...more })
    cleanups.push(() => provider.close())
    return provider
  }
  const provider = open()
  const create = (prompt: string, type = 'image', params = {}, callbackUrl?: string) =>
    provider.create(
      { taskId: 't', type, params: { prompt, ...params }, ...(callbackUrl ? { callbackUrl } : {}) },
      never,
    )
  const accepted = async (...wanted: Parameters<typeof create>) => {
    const outcome = await create(...wanted)
    if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`)
    return outcome.externalId
  }
  return {
    clock,
    simulator,
    provider,
    open,
    create,
    accepted,
    query: (id: string) => provider.query(id, never),
  }
}

describe('ids and paths', () => {
  it.each([
    ['fal-ai/flux/dev', 'fal-ai/flux'],
    ['fal-ai/flux', 'fal-ai/flux'],
    [MODEL, 'fal-ai/kling-video'],
    ['workflows/me/mine/v2', 'workflows/me/mine'],
    ['comfy/me/mine', 'comfy/me/mine'],
  ])('the app of %s is %s', (model, app) => {
    expect(appOf(model)).toBe(app)
  })

  it.each([
    '',
    'flux',
    '/fal-ai/flux',
    'fal-ai/',
    'fal-ai/../x',
    'a/b?c',
    'a/b:c',
    'a/b c',
    `a/${'b'.repeat(200)}`,
  ])('the model %j is none', (model) => {
    expect(isModel(model)).toBe(false)
  })

  it('an id goes there and back, and nothing else is taken for one', () => {
    const request = { model: MODEL, requestId: '764cabcf-b745-4b3e-ae38-1200304cf45b' }
    expect(fromExternalId(toExternalId(request))).toEqual(request)
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const found = fromExternalId(text)
        if (found) expect(toExternalId(found)).toBe(text)
      }),
    )
  })

  it.each(['short', 'full', 'response'] as const)(
    'F8 requests under %s paths are polled to the end, by an adapter that was restarted too',
    async (pathForm) => {
      const { clock, simulator, provider, open, accepted } = await setUp({ pathForm })
      const id = await accepted('waves', 'video')
      expect(await provider.query(id, never)).toMatchObject({ kind: 'running' })
      // What the create's reply said is used: one call for one poll.
      expect(simulator.requests()).toHaveLength(2)
      const restarted = open()
      expect(await restarted.query(id, never)).toMatchObject({ kind: 'running' })
      clock.now += 60_000
      expect(await restarted.query(id, never)).toMatchObject({ kind: 'succeeded' })
      const asked = simulator.requests().length
      expect(await restarted.query(id, never)).toMatchObject({ kind: 'succeeded' })
      // Status and result, both at the right place at once.
      expect(simulator.requests().length - asked).toBe(2)
      expect(await open().cancel?.(id, never)).toBe(true)
    },
  )

  it('F8 the parameters are the body, and the model is the path', async () => {
    const seen: string[] = []
    const server = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      seen.push(`${request.method} ${request.url} ${request.headers.authorization} ${body}`)
      response.end(JSON.stringify({ request_id: 'r-1' }))
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    cleanups.push(() => new Promise((done) => server.close(done)))
    const { port } = server.address() as { port: number }
    const provider = createFal({ apiKey: 'k-1', baseUrl: `http://127.0.0.1:${port}`, models })
    cleanups.push(() => provider.close())
    const request = { taskId: 't', type: 'video', params: { prompt: 'x', duration: '5' } }
    expect(await provider.create(request, never)).toEqual({ kind: 'accepted', externalId: `${MODEL}:r-1` })
    expect(seen).toEqual([`POST /${MODEL} Key k-1 {"prompt":"x","duration":"5"}`])
    await provider.create({ ...request, callbackUrl: 'https://us.example/hook/s?x=1' }, never)
    const hook = encodeURIComponent(`https://us.example/hook/s?x=1&model=${encodeURIComponent(MODEL)}`)
    expect(seen[1]).toContain(`fal_webhook=${hook}`)
  })

  it('F8 a type without a model, or one that is none, is refused before anything is sent', async () => {
    const { create, provider, simulator } = await setUp()
    expect(await create('x', 'music')).toMatchObject({ kind: 'refused', code: 'SUBMIT_REFUSED' })
    const odd = { taskId: 't', type: 'image', params: { prompt: 'x' }, model: '../../x' }
    expect(await provider.create(odd, never)).toMatchObject({ kind: 'refused' })
    expect(simulator.requests()).toEqual([])
  })
})

const reply = (status: number, json: unknown, headers: Record<string, string> = {}) => ({
  status,
  json,
  headers,
  body: JSON.stringify(json) ?? '',
  now: 0,
})

describe('what replies say', () => {
  it.each([
    [
      422,
      { detail: [{ loc: ['body'], msg: 'field required', type: 'missing' }] },
      { words: 'field required' },
    ],
    [
      422,
      { detail: [{ msg: 'no', type: 'content_policy_violation' }] },
      { words: 'no', code: 'CONTENT_REFUSED' },
    ],
    [403, { detail: 'User is locked. Reason: Exhausted balance.' }, { code: 'PROVIDER_QUOTA' }],
    [404, { status: 'NOT_FOUND' }, { words: 'NOT_FOUND' }],
  ])('F8 an error %i %j is %j', (status, json, error) => {
    expect(readFalError(reply(status, json))).toMatchObject(error)
  })

  it('E3 x-ratelimit-reset counts where it is sent', () => {
    const limited = (reset: string) =>
      readFalError(reply(429, { detail: 'slow down' }, { 'x-ratelimit-reset': reset }))
    expect(limited('7')?.retryAfterMs).toBe(7_000)
    expect(limited('soon')?.retryAfterMs).toBeUndefined()
  })

  it.each([
    [
      'a list',
      { images: [{ url: 'https://x/a.png', content_type: 'image/png' }, { url: 'https://x/b.png' }] },
      ['image/png', null],
    ],
    ['one', { video: { url: 'https://x/a.mp4', content_type: 'video/mp4' }, seed: 7 }, ['video/mp4']],
    ['only text', { audio_url: 'https://x/a.mp3' }, [undefined]],
    ['none', { text: 'words', video: { url: 'javascript:alert(1)' } }, []],
    ['an odd type', { image: { url: 'https://x/a', content_type: 'image/png\r\nx: y' } }, [null]],
  ])('P4 files as %s are read', (_name, json, types) => {
    const reading = readFalResult(reply(200, json))
    expect(reading).toMatchObject({ kind: 'succeeded' })
    const outputs = reading.kind === 'succeeded' ? reading.outputs : []
    expect(outputs.map(({ contentType }) => contentType)).toEqual(types)
  })

  it.each([
    [400, { detail: 'Request is still in progress' }, {}, { kind: 'running' }],
    [401, { detail: 'no' }, {}, { kind: 'inconclusive' }],
    [403, { detail: 'no' }, {}, { kind: 'inconclusive' }],
    [429, { detail: 'no' }, { 'retry-after': '4' }, { kind: 'inconclusive', retryAfterMs: 4_000 }],
    [502, undefined, {}, { kind: 'inconclusive' }],
    [302, {}, {}, { kind: 'inconclusive' }],
    [404, { detail: 'gone' }, {}, { kind: 'failed', code: 'RESULT_UNREADABLE', retryable: true }],
    [422, { detail: 'bad' }, {}, { kind: 'failed', retryable: false }],
    [422, { detail: 'bad' }, { 'x-fal-retryable': 'true' }, { kind: 'failed', retryable: true }],
    [500, { detail: 'bad' }, {}, { kind: 'maybe-failed' }],
    [500, { detail: 'bad' }, { 'x-fal-retryable': 'false' }, { kind: 'failed', retryable: false }],
    [503, { detail: 'x', error_type: 'runner_connection_refused' }, {}, { kind: 'failed', retryable: true }],
    [504, { detail: 'x' }, { 'x-fal-error-type': 'request_timeout' }, { kind: 'failed', retryable: true }],
    [504, { detail: 'x' }, { 'x-fal-request-timeout-type': 'user' }, { kind: 'failed', retryable: false }],
  ])('P4 a result %i %j %j is %j', (status, json, headers, reading) => {
    expect(readFalResult(reply(status, json, headers as Record<string, string>))).toMatchObject(reading)
  })

  it('P4 a status is about the request that was asked for, or about nothing', () => {
    const unknown: unknown[] = []
    const read = (json: unknown) => readFalStatus(json, 'r-1', (status) => unknown.push(status))
    expect(read({ status: 'IN_QUEUE', queue_position: 3, logs: null })).toEqual({
      kind: 'running',
      progress: null,
      queuePosition: 3,
    })
    expect(read({ status: 'IN_PROGRESS', queue_position: 3 })).toEqual({ kind: 'running', progress: null })
    const logs = [{ message: 'hello' }, { message: ' 42%|████  | 21/50' }, null]
    expect(read({ status: 'IN_PROGRESS', request_id: 'r-1', logs })).toEqual({
      kind: 'running',
      progress: 42,
    })
    expect(read({ status: 'COMPLETED', error: 'x', error_type: 'y' })).toEqual({
      kind: 'over',
      error: { words: 'x', type: 'y' },
    })
    expect(read({ status: 'FAILED' })).toMatchObject({ kind: 'running' })
    expect(unknown).toEqual(['FAILED'])
    for (const json of [null, [], {}, { status: 7 }, { status: 'COMPLETED', request_id: 'r-2' }]) {
      expect(() => read(json)).toThrow()
    }
  })

  it('P4 no reply makes reading a result throw but for one that is no JSON', () => {
    const headers = fc.constantFrom<Record<string, string>>(
      {},
      { 'x-fal-retryable': 'x' },
      { 'x-fal-error-type': 'y' },
    )
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), fc.jsonValue(), headers, (status, json, fields) => {
        const reading = readFalResult(reply(status, json, fields))
        if (reading.kind === 'succeeded') expect(status).toBeLessThan(300)
        if (reading.kind === 'failed') expect(status).toBeGreaterThanOrEqual(400)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('results', () => {
  it('P4 a large result is gone after six minutes, a small one after an hour', async () => {
    const { clock, accepted, query } = await setUp()
    const large = await accepted('a cat [large]')
    const small = await accepted('a cat')
    clock.now += 360_000
    expect(await query(large)).toMatchObject({ kind: 'succeeded' })
    clock.now += 60_000
    expect(await query(large)).toMatchObject({ kind: 'failed', code: 'RESULT_UNREADABLE' })
    expect(await query(small)).toMatchObject({ kind: 'succeeded' })
  })

  it.each([
    ['broken-result', 'PROVIDER_FAILED'],
    ['no-files', 'RESULT_UNREADABLE'],
  ])('P4 [%s] is given two minutes, then is %s', async (word, code) => {
    const { clock, accepted, query } = await setUp()
    const id = await accepted(`a cat [${word}]`)
    clock.now += 60_000
    expect(await query(id)).toMatchObject({ kind: 'inconclusive' })
    clock.now += 119_000
    expect(await query(id)).toMatchObject({ kind: 'inconclusive' })
    clock.now += 1_000
    expect(await query(id)).toMatchObject({ kind: 'failed', code, retryable: true })
  })

  it('P4 the words of the result are told where the status knows only that it failed', async () => {
    const { clock, accepted, query } = await setUp()
    const id = await accepted('a cat [status-error] [invalid]')
    clock.now += 60_000
    expect(await query(id)).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('image_size is too large'),
    })
  })

  it('P4 a status with an error is a failure even when the result cannot be had', async () => {
    const { clock, accepted, query } = await setUp()
    const id = await accepted('a cat [status-error] [proxy-result]')
    clock.now += 60_000
    expect(await query(id)).toMatchObject({ kind: 'failed', code: 'PROVIDER_FAILED' })
  })
})

describe('cancelling', () => {
  it.each([
    ['queued', 100, true],
    ['running', 4_000, true],
    ['finished', 60_000, true],
  ])('Q9 what is %s needs no second asking', async (_state, afterMs, taken) => {
    const { clock, provider, accepted } = await setUp()
    const id = await accepted('a cat')
    clock.now += afterMs
    expect(await provider.cancel?.(id, never)).toBe(taken)
  })

  it('Q9 what is unknown needs none; what is in the way does', async () => {
    const { provider, accepted } = await setUp()
    expect(await provider.cancel?.('fal-ai/flux/dev:nobody', never)).toBe(true)
    expect(await provider.cancel?.('nonsense', never)).toBe(true)
    const id = await accepted('a cat')
    const denied = createFal({ apiKey: 'x', baseUrl: 'http://127.0.0.1:9', models })
    cleanups.push(() => denied.close())
    expect(await denied.cancel?.(id, never)).toBe(false)
  })

  it('Q9 what we cancelled is cancelled, whatever words it fails in; what we did not is not', async () => {
    const { clock, provider, simulator, accepted, query } = await setUp()
    const ours = await accepted('a cat [cancel-odd]')
    const theirs = await accepted('a cat [cancel-odd]')
    clock.now += 4_000
    expect(await provider.cancel?.(ours, never)).toBe(true)
    simulator.finish(fromExternalId(theirs)?.requestId ?? '', 'cancelled')
    expect(await query(ours)).toEqual({ kind: 'cancelled' })
    expect(await query(theirs)).toMatchObject({ kind: 'failed', code: 'PROVIDER_FAILED' })
  })

  it('Q9 a cancel that came too late ends with the result', async () => {
    const { clock, provider, accepted, query } = await setUp()
    const id = await accepted('a cat [cancel-too-late]')
    clock.now += 4_000
    expect(await provider.cancel?.(id, never)).toBe(true)
    clock.now += 60_000
    expect(await query(id)).toMatchObject({ kind: 'succeeded' })
  })
})

describe('webhooks', () => {
  /** The known one: a seed of 32 bytes of 7. */
  const X = '6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw'
  const body = '{"request_id":"r1","gateway_request_id":"r1","status":"OK","payload":{"images":[]}}'
  const signature =
    '99d90ec80420304c7f6580fe79472ed4f5fee19a5a990c296f66bd309601921fac14d361905b874521878084b4b3fe7146a1709ab083ed49b40f07c1529c110c'
  const headers = {
    'x-fal-webhook-request-id': 'r1',
    'x-fal-webhook-user-id': 'user_1',
    'x-fal-webhook-timestamp': '1700000000',
    'x-fal-webhook-signature': signature,
  }
  const receivedAtMs = 1_700_000_000_000
  const url = `https://us.example/hook/s?model=${encodeURIComponent(MODEL)}`

  async function reader(more: Partial<FalOptions> = {}) {
    const keys = createServer((_request, response) => {
      response.end(JSON.stringify({ keys: [{ kty: 'OKP', crv: 'Ed25519', x: X }] }))
    })
    await new Promise<void>((done) => keys.listen(0, '127.0.0.1', done))
    cleanups.push(() => new Promise((done) => keys.close(done)))
    const { port } = keys.address() as { port: number }
    const keysUrl = `http://127.0.0.1:${port}/jwks.json`
    const provider = createFal({
      apiKey: 'a-key-for-tests',
      keysUrl,
      models,
      now: () => receivedAtMs,
      ...more,
    })
    cleanups.push(() => provider.close())
    return (changed: Partial<typeof headers> = {}, text = body, at: string | undefined = url) =>
      provider.readWebhook?.({
        headers: { ...headers, ...changed },
        body: Buffer.from(text),
        receivedAtMs,
        url: at,
      })
  }

  it('the known signature is taken, and is what the known key makes', async () => {
    const d = Buffer.alloc(32, 7).toString('base64url')
    const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', x: X, d }, format: 'jwk' })
    const message = signedMessage('r1', 'user_1', '1700000000', Buffer.from(body))
    expect(message.toString()).toContain('f3423b2f6b5e4205abee09cbc64aba9a666d982fcd18d41d9d9873cffc1bd4b3')
    expect(sign(null, message, key).toString('hex')).toBe(signature)
    const read = await reader()
    expect(await read()).toMatchObject({ kind: 'about', externalId: `${MODEL}:r1`, isSigned: true })
  })

  it('S2 a flipped bit anywhere is forged', async () => {
    const read = await reader()
    const flip = (text: string, at: number, bit: number) => {
      const index = at % text.length
      const other = String.fromCharCode(text.charCodeAt(index) ^ (1 << bit))
      return text.slice(0, index) + other + text.slice(index + 1)
    }
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 500 }), fc.nat({ max: 6 }), async (at, bit) => {
        expect(await read({}, flip(body, at, bit))).toMatchObject({ kind: 'forged' })
        for (const [name, value] of Object.entries(headers)) {
          expect(await read({ [name]: flip(value, at, bit) })).toMatchObject({ kind: 'forged' })
        }
      }),
      { numRuns: 200 },
    )
  })

  it.each(Object.keys(headers))('S2 without %s it is forged', async (name) => {
    const read = await reader()
    expect(await read({ [name]: '' })).toMatchObject({ kind: 'forged' })
  })

  it("S2 another account's webhook is not ours, where ours is known", async () => {
    expect(await (await reader({ webhookUserId: 'user_2' }))()).toEqual({ kind: 'irrelevant' })
    expect(await (await reader({ webhookUserId: 'user_1' }))()).toMatchObject({ kind: 'about' })
  })

  it('the model comes from the address, or is the only one there is', async () => {
    const several = await reader()
    expect(await several({}, body, 'https://us.example/hook')).toMatchObject({ kind: 'unreadable' })
    expect(await several({}, body, 'https://us.example/hook?model=../x')).toMatchObject({
      kind: 'unreadable',
    })
    const one = await reader({ models: { image: 'fal-ai/flux/dev', other: 'fal-ai/flux/dev' } })
    expect(await one({}, body, 'https://us.example/hook')).toMatchObject({ externalId: 'fal-ai/flux/dev:r1' })
  })

  it('a new key is learned, and forged calls do not make us ask for keys again and again', async () => {
    const { clock, simulator, provider, accepted } = await setUp()
    const { calls, url: hook, close } = await receiveWebhooks()
    cleanups.push(close)
    const readLast = () => {
      const call = calls.at(-1)
      if (!call) throw new Error('nothing came')
      return provider.readWebhook?.({ ...call, body: Buffer.from(call.body), receivedAtMs: clock.now })
    }
    const asked = () => simulator.requests().filter(({ path }) => path.endsWith('jwks.json')).length
    const finish = async (words: string) => {
      await accepted(`a cat ${words}`, 'image', {}, hook)
      clock.now += 60_000
      await simulator.sendWebhooks()
    }
    await finish('')
    expect(await readLast()).toMatchObject({ kind: 'about' })
    expect(asked()).toBe(1)
    simulator.rotateKeys()
    await finish('')
    expect(await readLast()).toMatchObject({ kind: 'about' })
    expect(asked()).toBe(2)
    await finish('[hook-forged]')
    for (let times = 0; times < 20; times++) expect(await readLast()).toMatchObject({ kind: 'forged' })
    expect(asked()).toBe(3)
  })

  it('without keys nothing is believed', async () => {
    const provider = createFal({ apiKey: 'a-key-for-tests', keysUrl: 'http://127.0.0.1:9/jwks.json', models })
    cleanups.push(() => provider.close())
    const call = { headers, body: Buffer.from(body), receivedAtMs, url }
    expect(await provider.readWebhook?.(call)).toMatchObject({ kind: 'unreadable' })
  })

  it('an error is told with its words, and is sent until it is taken', async () => {
    const { calls, url: hook, close } = await receiveWebhooks((nth) => (nth < 3 ? 500 : 200))
    cleanups.push(close)
    const { clock, simulator, accepted } = await setUp({ webhookRetryMs: 1 })
    await accepted('a cat [invalid]', 'image', {}, hook)
    clock.now += 60_000
    await simulator.sendWebhooks()
    expect(calls).toHaveLength(3)
    const [first, second] = calls.map((call) => JSON.parse(call.body))
    expect(first).toMatchObject({
      status: 'ERROR',
      payload: { detail: [{ msg: 'image_size is too large' }] },
    })
    expect(second.request_id).toBe(first.request_id)
    expect(second.gateway_request_id).not.toBe(first.gateway_request_id)
  })
})

it('a status is 202 until the end and 200 then, with a place in the queue at first and logs when asked for', async () => {
  const { clock, simulator, accepted } = await setUp()
  const id = fromExternalId(await accepted('a cat'))?.requestId
  const status = async (query: string) => {
    const response = await fetch(`${simulator.url}/fal-ai/flux/requests/${id}/status${query}`, {
      headers: { authorization: 'Key fal-key' },
    })
    return { code: response.status, ...((await response.json()) as Record<string, unknown>) }
  }
  expect(await status('')).toMatchObject({ code: 202, status: 'IN_QUEUE', queue_position: 0, logs: null })
  clock.now += 4_000
  expect(await status('?logs=1')).toMatchObject({
    code: 202,
    status: 'IN_PROGRESS',
    logs: [{ level: 'INFO' }],
  })
  clock.now += 60_000
  expect(await status('')).toMatchObject({ code: 200, status: 'COMPLETED', metrics: { inference_time: 6.4 } })
})

describe("the vendor's own client, unchanged, against the simulator", () => {
  async function client(options: FalSimulatorOptions = {}) {
    const simulator = await startFalSimulator({ speed: 40, random: () => 0.5, ...options })
    cleanups.push(() => simulator.close())
    const fal = createFalClient({
      credentials: 'fal-key',
      // Its only settings for other hosts: where requests go, and how they are sent.
      fetch: (input, init) => fetch(String(input).replace('https://queue.fal.run', simulator.url), init),
    })
    return { simulator, fal }
  }

  it.each(['polling', 'streaming'] as const)('subscribes from create to result (%s)', async (mode) => {
    const { fal, simulator } = await client()
    const seen: string[] = []
    const { data, requestId } = await fal.subscribe(MODEL, {
      input: { prompt: 'waves' },
      mode,
      ...(mode === 'polling' ? { pollInterval: 50 } : {}),
      logs: true,
      onQueueUpdate: ({ status }) => seen.push(status),
    })
    const { video } = data as { video: { url: string; content_type: string } }
    expect(video.content_type).toBe('video/mp4')
    expect((await fetch(video.url)).status).toBe(200)
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/)
    expect([...new Set(seen)]).toEqual(['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED'])
    expect(simulator.creates()).toBe(1)
  })

  it('sees failures in the result, cancels, and passes a webhook URL on', async () => {
    const { fal, simulator } = await client()
    await expect(
      fal.subscribe('fal-ai/flux/dev', { input: { prompt: 'a cat [invalid]' }, pollInterval: 50 }),
    ).rejects.toMatchObject({ status: 422, body: { detail: [{ msg: 'image_size is too large' }] } })
    const webhookUrl = 'https://us.example/hook'
    const { request_id: requestId } = await fal.queue.submit('fal-ai/flux/dev', {
      input: { prompt: 'a cat [stuck] [hook-none]' },
      webhookUrl,
    })
    expect(simulator.requests().at(-1)?.search).toBe(`?fal_webhook=${encodeURIComponent(webhookUrl)}`)
    await fal.queue.cancel('fal-ai/flux/dev', { requestId })
    expect(await fal.queue.status('fal-ai/flux/dev', { requestId })).toMatchObject({ status: 'COMPLETED' })
    await expect(fal.queue.cancel('fal-ai/flux/dev', { requestId })).rejects.toMatchObject({ status: 400 })
  })
})

it('S3 what cannot work is refused at once, without quoting the key', () => {
  for (const apiKey of ['', 'two\nlines', 'schlüssel']) {
    expect(() => createFal({ apiKey, models })).toThrow('The API key for fal is empty')
  }
  expect(() => createFal({ apiKey: 'k', baseUrl: 'fal.run', models })).toThrow('not an http(s) URL')
})
