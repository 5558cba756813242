import { createServer } from 'node:http'
import fc from 'fast-check'
import Replicate, { validateWebhook } from 'replicate'
import { Pool } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import { createMemoryLog } from '../../../test/memory-log.ts'
import { receiveWebhooks } from '../../../test/receive-webhooks.ts'
import { progressOfLogs } from '../progress-of-logs.ts'
import { signStandardWebhook } from '../webhook-signatures/standard-webhooks.ts'
import { predictionRoute } from './prediction-route.ts'
import { readPrediction } from './read-prediction.ts'
import { readReplicateError } from './read-replicate-error.ts'
import { createReplicate, type ReplicateOptions } from './replicate.ts'
import {
  type ReplicateSimulatorOptions,
  startReplicateSimulator,
} from './simulator/start-replicate-simulator.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const never = new AbortController().signal
const VERSION = 'a'.repeat(64)
const hook = 'https://us.example/v1/webhooks/replicate/secret-1'

async function setUp(options: ReplicateSimulatorOptions = {}, more: Partial<ReplicateOptions> = {}) {
  const clock = { now: Date.parse('2026-11-16T08:00:00Z') }
  const now = () => clock.now
  const simulator = await startReplicateSimulator({ now, random: () => 0.5, ...options })
  const models = {
    image: 'black-forest-labs/flux-schnell',
    old: `someone/old:${VERSION}`,
    own: 'deployments/us/ours',
  }
  const provider = createReplicate({ apiKey: 'r8_key', baseUrl: `${simulator.url}/v1`, models, now, ...more })
  cleanups.push(
    () => simulator.close(),
    () => provider.close(),
  )
  const requestFor = (prompt: string, type = 'image', callbackUrl?: string, params = {}) => ({
    taskId: 't',
    type,
    params: { prompt, ...params },
    ...(callbackUrl ? { callbackUrl } : {}),
  })
  const create = (...wanted: Parameters<typeof requestFor>) => provider.create(requestFor(...wanted), never)
  const accepted = async (...wanted: Parameters<typeof requestFor>) => {
    const outcome = await create(...wanted)
    if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`)
    return outcome.externalId
  }
  const get = async (path: string) => {
    const response = await fetch(`${simulator.url}/v1${path}`, {
      headers: { authorization: 'Bearer r8_key' },
    })
    return (await response.json()) as Record<string, unknown>
  }
  return {
    clock,
    simulator,
    provider,
    create,
    accepted,
    requestFor,
    get,
    query: (id: string) => provider.query(id, never),
  }
}

describe('creating', () => {
  it.each([
    ['black-forest-labs/flux-schnell', { path: '/models/black-forest-labs/flux-schnell/predictions' }],
    ['deployments/us/ours', { path: '/deployments/us/ours/predictions' }],
    [VERSION, { path: '/predictions', version: VERSION }],
    [`a/b:${VERSION}`, { path: '/predictions', version: `a/b:${VERSION}` }],
    ['', null],
    ['flux', null],
    ['../predictions', null],
    ['a/../b', null],
    ['a/b/c', null],
    ['a/b?x=1', null],
    ['a/b:short', null],
  ])('F8 the model %j is asked for at %j', (model, route) => {
    expect(predictionRoute(model)).toEqual(route)
  })

  it('F8 the parameters go into input; model and version are those set for the type or chosen of its list', async () => {
    const { accepted, provider, requestFor, simulator, get } = await setUp()
    const usual = await accepted('a cat', 'image', undefined, { aspect_ratio: '16:9' })
    const old = await accepted('a cat', 'old')
    await accepted('a cat', 'own')
    await accepted('a cat', 'image', undefined, { model: 'not/listed', version: VERSION })
    await provider.create({ ...requestFor('a cat'), model: 'other/model' }, never)
    expect(simulator.requests().map(({ path }) => path)).toEqual([
      '/v1/models/black-forest-labs/flux-schnell/predictions',
      '/v1/predictions',
      '/v1/deployments/us/ours/predictions',
      '/v1/models/black-forest-labs/flux-schnell/predictions',
      '/v1/models/other/model/predictions',
    ])
    expect(await get(`/predictions/${usual}`)).toMatchObject({
      input: { prompt: 'a cat', aspect_ratio: '16:9' },
    })
    expect(await get(`/predictions/${old}`)).toMatchObject({ version: `someone/old:${VERSION}` })
  })

  it('F8 a type without a model, or one that is none, is refused before anything is sent', async () => {
    const { create, provider, requestFor, simulator } = await setUp()
    expect(await create('a cat', 'music')).toMatchObject({
      kind: 'refused',
      message: 'There is no model for “music”. Choose another type.',
    })
    expect(await provider.create({ ...requestFor('a cat'), model: '../x' }, never)).toMatchObject({
      kind: 'refused',
    })
    expect(simulator.requests()).toEqual([])
  })

  it.each([
    ['Request was throttled. Expected available in 12 seconds.', 12_000],
    ['Your rate limit for creating predictions is reduced. It resets in ~9s.', 9_000],
    ['Try again in 1.5 s', 1_500],
    ['in 2 minutes', 120_000],
    ['in 250ms', 250],
    ['Slow down', undefined],
  ])('E3 429 with %j is waited out for %s ms', (detail, retryAfterMs) => {
    const reply = { status: 429, headers: {}, body: '', json: { detail }, now: 0 }
    expect(readReplicateError(reply)?.retryAfterMs).toBe(retryAfterMs)
    expect(readReplicateError({ ...reply, status: 422 })?.retryAfterMs).toBeUndefined()
  })

  it('E3 the 601st create in a minute is told how long to wait, and is accepted later', async () => {
    const { clock, create, simulator } = await setUp({ rateLimit: { count: 2, windowMs: 60_000 } })
    expect(await create('a cat')).toMatchObject({ kind: 'accepted' })
    expect(await create('a cat')).toMatchObject({ kind: 'accepted' })
    expect(await create('a cat')).toMatchObject({ kind: 'not-accepted', retryAfterMs: 3_000 })
    clock.now += 60_000
    expect(await create('a cat')).toMatchObject({ kind: 'accepted' })
    expect(simulator.creates()).toBe(3)
  })
})

describe('polling', () => {
  it.each([
    [' 42%|████      | 21/50 [00:03<00:04]', 42],
    ['  0%|          | 0/50\n 10%|█         | 5/50\n100%|██████████| 50/50', 100],
    ['Loading: 100%|███| 3/3\n  7%|▋ | 1/15', 7],
    ['100% sure', null],
    ['', null],
    [null, null],
    [7, null],
  ])('P4 progress of logs %j is %j', (logs, progress) => {
    expect(progressOfLogs(logs)).toBe(progress)
  })

  it('P4 megabytes of logs are read in no time', () => {
    expect(progressOfLogs(`${'9%|'.repeat(1_000_000)}\n 33%|███ | 1/3`)).toBe(33)
  })

  const read = (prediction: Record<string, unknown>) =>
    readPrediction({ id: 'p1', ...prediction }, 'p1', () => undefined)
  const a = 'https://replicate.delivery/a.png'
  const b = 'https://replicate.delivery/b.mp4'

  it.each([
    [a, [a]],
    [
      [a, b],
      [a, b],
    ],
    [{ video: b, image: a, seed: 7 }, [b, a]],
    [{ files: [{ url: a }], text: 'x' }, [a]],
    ['words', []],
    [['data:image/png;base64,AAAA', 'javascript:alert(1)', null, 7, a], [a]],
    [null, []],
  ])('P4 the files of output %j are %j', (output, urls) => {
    expect(read({ status: 'succeeded', output })).toEqual({
      kind: 'succeeded',
      outputs: urls.map((url) => ({ url })),
    })
  })

  it.each(['canceled', 'aborted'])('P4 %s is cancelled', (status) => {
    expect(read({ status })).toEqual({ kind: 'cancelled' })
  })

  it('P4 errors are told whether they are text, records or nothing', () => {
    expect(read({ status: 'failed', error: 'out of memory' })).toMatchObject({ words: 'out of memory' })
    expect(read({ status: 'failed', error: { detail: 'no' } })).toMatchObject({ words: 'no' })
    expect(read({ status: 'failed', error: null })).toMatchObject({ kind: 'failed', words: '' })
  })

  it("P4 another's prediction, and what is none, say nothing", () => {
    expect(() => read({ id: 'p2', status: 'succeeded', output: a })).toThrow('another task')
    for (const json of [null, [], 'x', {}, { id: 'p1' }, { id: 'p1', status: 7 }]) {
      expect(() => readPrediction(json, 'p1', () => undefined)).toThrow()
    }
  })

  it('P4 an hour after the end the result is gone, and that is known', async () => {
    const { clock, accepted, query, get } = await setUp()
    const id = await accepted('a cat')
    clock.now += 60 * 60_000
    expect(await query(id)).toMatchObject({ kind: 'succeeded' })
    clock.now += 60_000
    expect(await get(`/predictions/${id}`)).toMatchObject({
      output: null,
      data_removed: true,
      input: {},
      logs: '',
    })
    expect(await query(id)).toMatchObject({
      kind: 'failed',
      code: 'RESULT_UNREADABLE',
      message: expect.stringContaining('the result was removed before it could be fetched'),
    })
  })

  it('P4 a success that stays without files is unreadable after two minutes', async () => {
    const { clock, accepted, query } = await setUp()
    const id = await accepted('a cat [null-output]')
    clock.now += 60_000
    expect(await query(id)).toMatchObject({ kind: 'inconclusive' })
    clock.now += 120_000
    expect(await query(id)).toMatchObject({ kind: 'failed', code: 'RESULT_UNREADABLE' })
  })

  it('P4 a reply of several megabytes is read', async () => {
    const output = ['https://replicate.delivery/a.png']
    const large = createServer((_request, response) => {
      response.end(JSON.stringify({ id: 'p1', status: 'succeeded', output, logs: 'x'.repeat(5_000_000) }))
    })
    await new Promise<void>((done) => large.listen(0, '127.0.0.1', done))
    cleanups.push(() => new Promise((done) => large.close(done)))
    const { port } = large.address() as { port: number }
    const provider = createReplicate({ apiKey: 'k', baseUrl: `http://127.0.0.1:${port}`, models: {} })
    cleanups.push(() => provider.close())
    expect(await provider.query('p1', never)).toMatchObject({ kind: 'succeeded' })
  })

  it('P4 no reply makes a query throw, succeed without URLs, or fail unless Replicate says so', () => {
    const status = fc.oneof(fc.constantFrom('starting', 'succeeded', 'failed', 'canceled'), fc.jsonValue())
    const prediction = fc.record(
      {
        id: fc.oneof(fc.constant('p1'), fc.jsonValue()),
        status,
        output: fc.jsonValue(),
        error: fc.jsonValue(),
        logs: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.oneof(prediction, fc.jsonValue()), (json) => {
        try {
          const reading = readPrediction(json, 'p1', () => undefined)
          const said = json as Record<string, unknown>
          expect(said.id).toBe('p1')
          if (reading.kind === 'failed') expect(said.status).toMatch(/^(failed|succeeded)$/)
          if (reading.kind === 'succeeded') expect(said.status).toBe('succeeded')
        } catch (error) {
          // Thrown on purpose where nothing was said.
          expect(String(error)).toMatch(/has no status|about another task/)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('finding a create whose reply was lost', () => {
  it('F8 without a callback URL nothing is claimed, and nothing is asked', async () => {
    const { provider, create, requestFor, simulator, clock } = await setUp()
    await create('a cat [lost]')
    const asked = simulator.requests().length
    const outcome = await provider.find?.({ ...requestFor('a cat [lost]'), sentAtMs: clock.now }, never)
    expect(outcome).toMatchObject({ kind: 'inconclusive' })
    expect(simulator.requests()).toHaveLength(asked)
  })

  it('F8 it is found behind pages of others, and its absence is known only after a minute', async () => {
    const { provider, create, accepted, requestFor, clock } = await setUp()
    const sentAtMs = clock.now
    const find = (secret: string) =>
      provider.find?.({ ...requestFor('x', 'image', `${hook}${secret}`), sentAtMs }, never)
    expect(await create('a cat [lost]', 'image', `${hook}a`)).toMatchObject({ kind: 'unknown' })
    for (let count = 0; count < 250; count++) await accepted('others', 'image', `${hook}-other`)
    expect(await find('a')).toMatchObject({
      kind: 'found',
      externalId: expect.stringMatching(/^[0-9a-f]{26}$/),
    })
    expect(await find('b')).toMatchObject({ kind: 'inconclusive', reason: 'it may not be listed yet' })
    clock.now += 60_000
    expect(await find('b')).toEqual({ kind: 'absent' })
  })

  it('F8 with predictions that show no callback URL, absence is not claimed', async () => {
    const { provider, accepted, requestFor, clock } = await setUp()
    const sentAtMs = clock.now
    await accepted('somebody without a webhook')
    clock.now += 60_000
    const find = () => provider.find?.({ ...requestFor('x', 'image', hook), sentAtMs }, never)
    expect(await find()).toMatchObject({
      kind: 'inconclusive',
      reason: 'the list does not show the callback URLs',
    })
  })

  it('F8 what was made long before does not count', async () => {
    const { provider, accepted, requestFor, clock, simulator } = await setUp()
    for (let count = 0; count < 150; count++) await accepted('somebody without a webhook')
    clock.now += 3_600_000
    const sentAtMs = clock.now
    clock.now += 60_000
    const asked = simulator.requests().length
    expect(await provider.find?.({ ...requestFor('x', 'image', hook), sentAtMs }, never)).toEqual({
      kind: 'absent',
    })
    expect(simulator.requests().length - asked).toBe(1)
  })
})

describe('webhooks', () => {
  it('are asked for at the start and at the end, and come signed as the vendor signs', async () => {
    const secret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
    const { clock, simulator, accepted } = await setUp({ webhookSecret: secret })
    const { calls, url, close } = await receiveWebhooks()
    cleanups.push(close)
    await accepted('a cat', 'image', url)
    clock.now += 60_000
    await simulator.sendWebhooks()
    expect(calls.map(({ body }) => JSON.parse(body).status)).toEqual(['processing', 'succeeded'])
    for (const { headers, body } of calls) {
      const id = headers['webhook-id'] ?? ''
      const timestamp = headers['webhook-timestamp'] ?? ''
      const signature = headers['webhook-signature'] ?? ''
      expect(await validateWebhook({ id, timestamp, signature, body, secret })).toBe(true)
    }
  })

  it('the secret is asked for once, and once more when it has changed', async () => {
    const { clock, simulator, provider } = await setUp({ webhookSecret: 'whsec_b25l' })
    const asked = () => simulator.requests().filter(({ path }) => path.endsWith('/secret')).length
    const call = (secret: string) => {
      const body = '{"id":"p1","status":"succeeded"}'
      const timestamp = clock.now / 1000
      return provider.readWebhook?.({
        headers: {
          'webhook-id': 'msg_1',
          'webhook-timestamp': String(timestamp),
          'webhook-signature': signStandardWebhook(secret, { id: 'msg_1', timestamp, body }),
        },
        body: Buffer.from(body),
        receivedAtMs: clock.now,
      })
    }
    for (let times = 0; times < 5; times++) {
      expect(await call('whsec_b25l')).toEqual({
        kind: 'about',
        externalId: 'p1',
        deliveryId: 'msg_1',
        isSigned: true,
      })
    }
    expect(asked()).toBe(1)
    for (let times = 0; times < 50; times++)
      expect(await call('whsec_dHdv')).toMatchObject({ kind: 'forged' })
    expect(asked()).toBe(1)
    clock.now += 60_000
    expect(await call('whsec_dHdv')).toMatchObject({ kind: 'forged' })
    expect(asked()).toBe(2)
  })

  it('a secret that is set is not asked for; without one and without the vendor nothing is believed', async () => {
    const set = await setUp({}, { webhookSecret: 'whsec_b25l' })
    const call = { headers: {}, body: Buffer.from('{}'), receivedAtMs: set.clock.now }
    expect(await set.provider.readWebhook?.(call)).toMatchObject({ kind: 'forged' })
    expect(set.simulator.requests()).toEqual([])
    const unset = await setUp()
    await unset.simulator.close()
    expect(await unset.provider.readWebhook?.(call)).toMatchObject({ kind: 'unreadable' })
  })

  it('only the end is sent again when nobody takes it', async () => {
    const { calls, url, close } = await receiveWebhooks(() => 500)
    cleanups.push(close)
    const { clock, simulator, accepted } = await setUp({ webhookRetryMs: 1 })
    await accepted('a cat', 'image', url)
    clock.now += 60_000
    await simulator.sendWebhooks()
    const names = calls.map(({ headers }) => headers['webhook-id']?.split('_').at(-1))
    expect(names).toEqual(['start', ...Array.from({ length: 5 }, () => 'completed')])
    expect(new Set(calls.slice(1).map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  })

  it('may come in the wrong order', async () => {
    const { calls, url, close } = await receiveWebhooks()
    cleanups.push(close)
    const { clock, simulator, accepted } = await setUp()
    await accepted('a cat [hook-reversed]', 'image', url)
    clock.now += 60_000
    await simulator.sendWebhooks()
    expect(calls.map(({ body }) => JSON.parse(body).status)).toEqual(['succeeded', 'processing'])
  })
})

describe("the vendor's own client, unchanged, against the simulator", () => {
  async function client(options: ReplicateSimulatorOptions = {}) {
    const simulator = await startReplicateSimulator({ speed: 40, random: () => 0.5, ...options })
    cleanups.push(() => simulator.close())
    const replicate = new Replicate({ auth: 'r8_key', baseUrl: `${simulator.url}/v1`, useFileOutput: false })
    return { simulator, replicate }
  }
  const model = 'black-forest-labs/flux-schnell'

  it('creates, waits, lists and fetches', async () => {
    const { replicate, simulator } = await client()
    const created = await replicate.predictions.create({ model, input: { prompt: 'a cat' } })
    expect(created.status).toBe('starting')
    const done = await replicate.wait(created, { interval: 20 })
    expect(done).toMatchObject({ status: 'succeeded', error: null, data_removed: false })
    const [url] = done.output as string[]
    expect((await fetch(url ?? '')).status).toBe(200)
    const listed = await replicate.predictions.list()
    expect(listed.results.map(({ id }) => id)).toEqual([created.id])
    expect(simulator.creates()).toBe(1)
  })

  it.each(['block', 'poll'] as const)('runs a model to its output (%s)', async (mode) => {
    const { replicate } = await client()
    const output = await replicate.run(`someone/old:${VERSION}`, {
      input: { prompt: 'a cat [string-output]' },
      wait: mode === 'poll' ? { mode, interval: 20 } : { mode },
    })
    expect(output).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/files\//)
  })

  it('cancels, sees failures, and gets the webhook secret', async () => {
    const { replicate } = await client({ webhookSecret: 'whsec_b25l' })
    const stuck = await replicate.predictions.create({ model, input: { prompt: 'a cat [stuck]' } })
    expect(await replicate.predictions.cancel(stuck.id)).toMatchObject({ status: 'canceled' })
    await expect(
      replicate.run(model, { input: { prompt: 'a cat [fail]' }, wait: { mode: 'poll', interval: 20 } }),
    ).rejects.toThrow('Prediction failed: Prediction interrupted')
    await expect(replicate.predictions.get('nobody')).rejects.toThrow('404')
    expect(await replicate.webhooks.default.secret.get()).toEqual({ key: 'whsec_b25l' })
  })
})

it('F8 an injected pool is used and left open', async () => {
  const { simulator } = await setUp()
  const pool = new Pool(simulator.url)
  cleanups.push(() => pool.destroy())
  const provider = createReplicate({
    apiKey: 'r8_a-key',
    baseUrl: 'http://elsewhere.invalid/v1',
    models: {},
    pool,
  })
  expect(await provider.query('nobody', never)).toEqual({ kind: 'not-found' })
  await provider.close()
  expect(pool.closed).toBe(false)
})

it('S3 what cannot work is refused at once, without quoting the key', () => {
  for (const apiKey of ['', 'two\nlines', 'schlüssel']) {
    expect(() => createReplicate({ apiKey, models: {} })).toThrow('The API key for replicate is empty')
  }
  expect(() => createReplicate({ apiKey: 'k', baseUrl: 'replicate.com', models: {} })).toThrow(
    'not an http(s) URL',
  )
})

it('P4 a status made up anew in every poll fills neither the log nor the memory', async () => {
  const { log, lines } = createMemoryLog()
  const { simulator, provider, clock } = await setUp({}, { log })
  const steps = Array.from({ length: 150 }, (_, index) => ({
    phase: 'working' as const,
    says: `state-${index}`,
    forMs: 1_000,
  }))
  simulator.script({ steps })
  const created = await provider.create({ taskId: 't', type: 'image', params: { prompt: 'x' } }, never)
  const id = created.kind === 'accepted' ? created.externalId : ''
  for (let poll = 0; poll < 150; poll++, clock.now += 1_000) {
    expect(await provider.query(id, never)).toMatchObject({ kind: 'running' })
  }
  expect(lines).toHaveLength(100)
  expect(await provider.query(id, never)).toMatchObject({ kind: 'succeeded' })
})
