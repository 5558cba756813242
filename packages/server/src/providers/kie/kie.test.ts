import { createServer } from 'node:http'
import fc from 'fast-check'
import { Pool } from 'undici'
import { afterEach, describe, expect, test } from 'vitest'
import type { ProviderLimits, QueryOutcome } from '../provider.ts'
import { createKie } from './kie.ts'
import { type KieSimulatorOptions, startKieSimulator } from './simulator/start-kie-simulator.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const API_KEY = 'kie-secret-0123456789'
const models = { image: 'google/nano-banana', video: 'sora-2-text-to-video' }
const never = new AbortController().signal

async function setUp(options: KieSimulatorOptions = {}, limits: Partial<ProviderLimits> = {}) {
  const clock = { now: Date.parse('2026-11-16T08:00:00Z') }
  const now = () => clock.now
  const simulator = await startKieSimulator({ apiKey: API_KEY, now, random: () => 0.5, ...options })
  cleanups.push(() => simulator.close())
  const kie = createKie({ apiKey: API_KEY, baseUrl: simulator.url, models, limits, now })
  cleanups.push(() => kie.close())
  const create = (prompt: string, type = 'image', params = {}) =>
    kie.create({ taskId: 't', type, params: { prompt, ...params } }, never)
  const accepted = async (prompt: string, type = 'image', params = {}) => {
    const outcome = await create(prompt, type, params)
    if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`)
    return outcome.externalId
  }
  const query = (id: string) => kie.query(id, never)
  /** What the first polls say, in kinds. */
  const kinds = async (id: string, polls: number) => {
    const seen: QueryOutcome['kind'][] = []
    for (let poll = 0; poll < polls; poll++) seen.push((await query(id)).kind)
    return seen
  }
  return { clock, simulator, kie, create, accepted, query, kinds }
}

describe.each(['http', 'envelope'] as const)('with errors as %s', (errorStyle) => {
  test('P4 an image goes from running to its picture', async () => {
    const { clock, accepted, query } = await setUp({ errorStyle })
    const id = await accepted('a lighthouse')
    expect(await query(id)).toEqual({ kind: 'running', progress: null })
    clock.now += 4_000
    expect(await query(id)).toEqual({ kind: 'running', progress: null })
    clock.now += 5_000
    const done = await query(id)
    expect(done).toMatchObject({
      kind: 'succeeded',
      outputs: [{ contentType: 'image/png', urlLifetimeMs: 1_200_000 }],
    })
    const url = done.kind === 'succeeded' ? (done.outputs[0]?.url ?? '') : ''
    const file = await fetch(url)
    expect(file.status).toBe(200)
    expect(
      Buffer.from(await file.arrayBuffer())
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG')
  })

  test('O3 a link that died is made anew, and a stranger is told so', async () => {
    const { clock, kie, accepted, query } = await setUp({ errorStyle, fileTtlMs: 1_000 })
    const id = await accepted('a lighthouse')
    clock.now += 60_000
    const done = await query(id)
    const url = done.kind === 'succeeded' ? (done.outputs[0]?.url ?? '') : ''
    expect((await fetch(url)).status).toBe(403)
    const refreshed = await kie.refresh?.({ externalId: id, url, ordinal: 0 }, never)
    expect(refreshed).toMatchObject({ kind: 'refreshed', urlLifetimeMs: 1_200_000 })
    expect((await fetch(refreshed?.kind === 'refreshed' ? refreshed.url : '')).status).toBe(200)
    const foreign = { externalId: id, url: 'https://elsewhere.example/0.png', ordinal: 0 }
    expect(await kie.refresh?.(foreign, never)).toMatchObject({ kind: 'gone' })
  })

  test('P4 a video reports rising progress, then its clip', async () => {
    const { clock, accepted, query } = await setUp({ errorStyle })
    const id = await accepted('waves', 'video')
    const progress: (number | null)[] = []
    for (let poll = 0; poll < 25; poll++, clock.now += 1_000) {
      const outcome = await query(id)
      if (outcome.kind === 'running') progress.push(outcome.progress)
    }
    expect(progress).toHaveLength(25)
    expect(progress).toEqual(progress.toSorted((a, b) => (a ?? -1) - (b ?? -1)))
    expect(progress[0]).toBe(0)
    expect(progress.at(-1)).toBeGreaterThan(90)
    expect(await query(id)).toMatchObject({ kind: 'succeeded', outputs: [{ contentType: 'video/mp4' }] })
  })

  test.each([
    ['[fail]', 'PROVIDER_FAILED', true],
    ['[nsfw]', 'CONTENT_REFUSED', false],
  ])('P4 %s ends as %s', async (word, code, retryable) => {
    const { clock, accepted, query } = await setUp({ errorStyle })
    const id = await accepted(`a cat ${word}`)
    expect(await query(id)).toMatchObject({ kind: 'running' })
    clock.now += 10_000
    expect(await query(id)).toMatchObject({ kind: 'failed', code, retryable })
  })

  test.each([
    ['[refuse]', { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false }],
    ['[code:400]', { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false }],
    ['[code:401]', { kind: 'refused', code: 'PROVIDER_AUTH', retryable: false }],
    ['[code:402]', { kind: 'refused', code: 'PROVIDER_QUOTA', retryable: false }],
    ['[code:451]', { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false }],
    ['[code:500]', { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: true }],
    ['[code:505]', { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false }],
    ['[code:433]', { kind: 'not-accepted', retryAfterMs: 10_000 }],
    ['[code:455]', { kind: 'not-accepted', retryAfterMs: 30_000 }],
    ['[busy]', { kind: 'not-accepted', retryAfterMs: 10_000 }],
    ['[busy-seconds]', { kind: 'not-accepted', retryAfterMs: 1_000 }],
    ['[busy-date]', { kind: 'not-accepted', retryAfterMs: 1_000 }],
  ])('F8 a create with %s makes no task: %j', async (word, outcome) => {
    const { simulator, create } = await setUp({ errorStyle })
    expect(await create(`a cat ${word}`)).toMatchObject(outcome)
    expect(simulator.creates()).toBe(0)
  })

  test('F8 what was busy is accepted when sent again', async () => {
    const { simulator, create } = await setUp({ errorStyle })
    expect((await create('a cat [busy:2]')).kind).toBe('not-accepted')
    expect((await create('a cat [busy:2]')).kind).toBe('not-accepted')
    expect((await create('a cat [busy:2]')).kind).toBe('accepted')
    expect(simulator.creates()).toBe(1)
  })

  test.each([
    ['[500]', 'inconclusive'],
    ['[429]', 'inconclusive'],
    ['[html]', 'inconclusive'],
    ['[garbage]', 'inconclusive'],
    ['[cut]', 'inconclusive'],
    ['[hidden]', 'not-found'],
  ])('P4 three polls with %s are %s, and the fourth knows', async (word, kind) => {
    const { accepted, kinds } = await setUp({ errorStyle })
    const id = await accepted(`a cat ${word}`)
    expect(await kinds(id, 4)).toEqual([kind, kind, kind, 'running'])
  })

  test('P4 an id that KIE does not know is not found', async () => {
    const { query } = await setUp({ errorStyle })
    expect(await query('task_nobody')).toEqual({ kind: 'not-found' })
    expect(await query('ünknown & odd/?#\ud800')).toEqual({ kind: 'not-found' })
  })

  test('P4 a task that vanishes half-way is not found', async () => {
    const { clock, accepted, query } = await setUp({ errorStyle })
    const id = await accepted('a cat [vanish]')
    expect(await query(id)).toMatchObject({ kind: 'running' })
    clock.now += 5_000
    expect(await query(id)).toEqual({ kind: 'not-found' })
  })

  test('S3 a refused key is told without the key, on create and on query', async () => {
    const { simulator } = await setUp({ errorStyle })
    const kie = createKie({ apiKey: 'wrong-key', baseUrl: simulator.url, models })
    cleanups.push(() => kie.close())
    const created = await kie.create({ taskId: 't', type: 'image', params: { prompt: 'x' } }, never)
    const queried = await kie.query('task_1', never)
    expect(created).toMatchObject({ kind: 'refused', code: 'PROVIDER_AUTH' })
    expect(queried).toMatchObject({ kind: 'inconclusive' })
    expect(JSON.stringify([created, queried])).not.toContain('wrong-key')
  })

  test('F8 the 21st create in ten seconds is not accepted, and is later', async () => {
    const { clock, simulator, create } = await setUp({ errorStyle })
    for (let count = 0; count < 20; count++) expect((await create('a cat')).kind).toBe('accepted')
    expect(await create('a cat')).toMatchObject({ kind: 'not-accepted', retryAfterMs: 10_000 })
    clock.now += 10_000
    expect((await create('a cat')).kind).toBe('accepted')
    expect(simulator.creates()).toBe(21)
  })
})

test.each(['[lost]', '[hang]', '[html-create]', '[garbage-create]'])(
  'F8 a create with %s is unknown, though the task exists, and is sent once',
  async (word) => {
    const { simulator, create } = await setUp({}, { callTimeoutMs: 1_500 })
    expect((await create(`a cat ${word}`)).kind).toBe('unknown')
    expect(simulator.creates()).toBe(1)
    expect(simulator.log.filter(({ method }) => method === 'POST')).toHaveLength(1)
  },
)

test('F8 a create that was cut before it was taken is unknown as well: nobody can tell', async () => {
  const { simulator, create } = await setUp()
  expect((await create('a cat [dropped]')).kind).toBe('unknown')
  expect(simulator.creates()).toBe(0)
})

test('F8 P4 with KIE away, a create was not accepted and a query learned nothing', async () => {
  const { simulator, create, query, accepted } = await setUp()
  const id = await accepted('a cat')
  await simulator.close()
  expect(await create('a cat')).toMatchObject({ kind: 'not-accepted', retryAfterMs: null })
  expect(await query(id)).toMatchObject({ kind: 'inconclusive', retryAfterMs: null })
})

test('P4 a poll without an answer ends at the time limit and learned nothing', async () => {
  const { accepted, query } = await setUp({}, { callTimeoutMs: 1_500 })
  const id = await accepted('a cat [hang-polls:1]')
  expect(await query(id)).toMatchObject({ kind: 'inconclusive' })
  expect(await query(id)).toMatchObject({ kind: 'running' })
})

test('F8 a create stopped before it was sent was not accepted', async () => {
  const { kie, simulator } = await setUp()
  const request = { taskId: 't', type: 'image', params: { prompt: 'a cat' } }
  expect(await kie.create(request, AbortSignal.abort())).toMatchObject({ kind: 'not-accepted' })
  expect(simulator.log).toEqual([])
})

test('P4 a state that is not documented is running', async () => {
  const { clock, accepted, query } = await setUp()
  const id = await accepted('a cat [unknown-state]')
  clock.now += 4_000
  expect(await query(id)).toEqual({ kind: 'running', progress: null })
})

test('P4 a result as an object counts, several come in order', async () => {
  const { clock, accepted, query } = await setUp()
  const asObject = await accepted('a cat [object-result]')
  const four = await accepted('a cat [many]')
  clock.now += 10_000
  expect(await query(asObject)).toMatchObject({ kind: 'succeeded' })
  const done = await query(four)
  expect(done.kind === 'succeeded' && done.outputs.map(({ url }) => /\d\.png/.exec(url)?.[0])).toEqual([
    '0.png',
    '1.png',
    '2.png',
    '3.png',
  ])
})

test.each(['[empty-result]', '[null-result]', '[bad-result]', '[text-result]'])(
  'P4 success with %s is given two minutes, then is unreadable',
  async (word) => {
    const { clock, accepted, query } = await setUp()
    const id = await accepted(`a cat ${word}`)
    clock.now += 10_000
    expect(await query(id)).toMatchObject({ kind: 'inconclusive' })
    clock.now += 120_000
    expect(await query(id)).toMatchObject({ kind: 'failed', code: 'RESULT_UNREADABLE' })
  },
)

test('P4 a result that becomes readable a little later is not lost', async () => {
  const { clock, accepted, kinds } = await setUp()
  const id = await accepted('a cat [late-result]')
  clock.now += 10_000
  expect(await kinds(id, 3)).toEqual(['inconclusive', 'inconclusive', 'succeeded'])
})

test('F8 the parameters go into input, and the model is the one set for the type or chosen of its list', async () => {
  const { clock, kie, accepted, simulator } = await setUp()
  const paramOf = async (id: string) => {
    const response = await fetch(`${simulator.url}/api/v1/jobs/recordInfo?taskId=${id}`, {
      headers: { authorization: `Bearer ${API_KEY}` },
    })
    const { data } = (await response.json()) as { data: { param: string } }
    return JSON.parse(data.param)
  }
  const usual = await accepted('a cat', 'image', { aspect_ratio: '16:9' })
  const named = await accepted('a cat', 'image', { model: 'flux/pro' })
  const request = {
    taskId: 't',
    type: 'image',
    params: { prompt: 'a cat', model: 'flux/pro' },
    model: 'flux/pro',
  }
  const chosen = await kie.create(request, never)
  clock.now += 10_000
  expect(await paramOf(usual)).toEqual({
    model: 'google/nano-banana',
    input: { prompt: 'a cat', aspect_ratio: '16:9' },
  })
  expect(await paramOf(named)).toEqual({ model: 'google/nano-banana', input: { prompt: 'a cat' } })
  expect(await paramOf(chosen.kind === 'accepted' ? chosen.externalId : '')).toEqual({
    model: 'flux/pro',
    input: { prompt: 'a cat' },
  })
})

test('F8 a type without a model is refused before anything is sent', async () => {
  const { create, simulator } = await setUp()
  expect(await create('a cat', 'music')).toMatchObject({ kind: 'refused', code: 'SUBMIT_REFUSED' })
  expect(simulator.log).toEqual([])
})

test('S3 a key echoed by KIE is taken out of the message', async () => {
  const echo = createServer((request, response) => {
    response.end(JSON.stringify({ code: 422, msg: `bad key ${request.headers.authorization}` }))
  })
  await new Promise<void>((done) => echo.listen(0, '127.0.0.1', done))
  cleanups.push(() => new Promise((done) => echo.close(done)))
  const { port } = echo.address() as { port: number }
  const kie = createKie({ apiKey: API_KEY, baseUrl: `http://127.0.0.1:${port}`, models })
  cleanups.push(() => kie.close())
  const outcome = await kie.create({ taskId: 't', type: 'image', params: { prompt: 'x' } }, never)
  expect(outcome).toMatchObject({ kind: 'refused' })
  expect(JSON.stringify(outcome)).not.toContain(API_KEY)
})

test('F8 an injected pool is used and left open', async () => {
  const { simulator } = await setUp()
  const pool = new Pool(simulator.url)
  cleanups.push(() => pool.destroy())
  const kie = createKie({ apiKey: API_KEY, baseUrl: 'http://elsewhere.invalid', models, pool })
  expect(await kie.query('task_1', never)).toEqual({ kind: 'not-found' })
  await kie.close()
  expect(pool.closed).toBe(false)
})

test('closing twice is fine, and afterwards nothing is sent', async () => {
  const { kie, create, query } = await setUp()
  await Promise.all([kie.close(), kie.close()])
  await kie.close()
  expect(await create('a cat')).toMatchObject({ kind: 'not-accepted' })
  expect(await query('task_1')).toMatchObject({ kind: 'inconclusive' })
})

test('S3 what cannot work is refused at once, without quoting the key', () => {
  for (const apiKey of ['', 'two\nlines', 'schlüssel']) {
    expect(() => createKie({ apiKey, models })).toThrow('The API key for KIE is empty or has characters')
  }
  expect(() => createKie({ apiKey: 'k', baseUrl: 'kie.ai', models })).toThrow('is not an http(s) URL')
})

test('F15 F8 any parameters make a request that is accepted or refused, never an exception', async () => {
  const { kie } = await setUp({ rateLimit: { count: 1_000, windowMs: 1 } })
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (params) => {
      const outcome = await kie.create({ taskId: 't', type: 'image', params }, never)
      expect(['accepted', 'refused']).toContain(outcome.kind)
    }),
    { numRuns: 50 },
  )
})
