import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, it, test } from 'vitest'
import { receiveWebhooks } from '../../../test/receive-webhooks.ts'
import { COMMON_BEHAVIOURS, createVocabulary } from './behaviours.ts'
import { endEarly, endOf, planTask, type SimulatedTask, stateAt } from './simulated-task.ts'
import type { SimulatorOptions } from './simulator.ts'
import { startSimulator } from './start-simulator.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

/** A busy machine may take its time. */
const patiently = { timeout: 15_000 }

/** The smallest vendor there can be. */
async function start(options: SimulatorOptions = {}) {
  const clock = { now: Date.parse('2026-11-16T08:00:00Z') }
  let made = 0
  const simulator = await startSimulator(
    { now: () => clock.now, random: () => 0.5, ...options },
    (simulation) => ({
      rateLimit: { count: 100, windowMs: 1_000 },
      fileTtlMs: 60_000,
      keyOf: (headers) => String(headers['x-key'] ?? '') || null,
      newId: () => `job-${++made}-${clock.now}`,
      error: (status, detail) => ({ status, json: { detail } }),
      routes: [
        {
          kind: 'create',
          method: 'POST',
          path: /^\/jobs$/,
          read: ({ json }) =>
            typeof json?.prompt === 'string'
              ? { model: 'm', prompt: json.prompt, callbackUrl: String(json.hook ?? '') || null }
              : { status: 422, json: { detail: 'prompt is missing' } },
          reply: ({ taskId }) => ({ status: 201, json: { id: taskId } }),
        },
        {
          kind: 'query',
          method: 'GET',
          path: /^\/jobs\/(?<id>[^/]+)$/,
          reply(task) {
            const { phase, says, progress } = simulation.stateOf(task)
            return { status: 200, json: { status: says ?? phase, progress, urls: simulation.urlsOf(task) } }
          },
        },
      ],
      webhooks: {
        attempts: 2,
        eventsOf: (task) => {
          const end = endOf(task)
          return end === null ? [] : [{ name: 'end', at: end, isRetried: true }]
        },
        bodyOf: (task) => JSON.stringify({ id: task.taskId, status: 'succeeded' }),
        sign: (_task, _event, body, atMs, fault) => ({
          'x-signed': `${fault ?? 'well'} ${body.length} ${atMs - clock.now}`,
        }),
      },
    }),
  )
  cleanups.push(() => simulator.close())
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${simulator.url}${path}`, {
      method,
      headers: { 'x-key': 'any' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, json: text.startsWith('{') ? JSON.parse(text) : text }
  }
  const create = async (prompt: string, hook?: string) =>
    (await call('POST', '/jobs', { prompt, hook })).json.id as string
  const job = async (id: string) => (await call('GET', `/jobs/${id}`)).json
  return { clock, simulator, call, create, job }
}

describe('scripts', () => {
  it('make a task go through the states they name, for as long as they say', async () => {
    const { clock, simulator, create, job } = await start()
    simulator.script({
      steps: [
        { phase: 'queued', forMs: 100 },
        { phase: 'working', says: 'polishing', forMs: 200 },
        { phase: 'working', forMs: 300 },
      ],
      ending: 'failed',
    })
    const id = await create('a cat')
    const seen: string[] = []
    for (let step = 0; step < 7; step++, clock.now += 100) seen.push((await job(id)).status)
    expect(seen).toEqual(['queued', 'polishing', 'polishing', 'working', 'working', 'working', 'failed'])
    expect((await job(await create('a dog'))).status).toBe('queued')
  })

  it('are taken over HTTP too, in order, and what makes no sense is refused', async () => {
    const { call, create, job } = await start()
    expect(await call('POST', '/simulator/script', { words: ['refuse'] })).toMatchObject({ status: 200 })
    expect(await call('POST', '/simulator/script', { ending: 'never', words: ['busy:1'] })).toMatchObject({
      status: 200,
    })
    for (const nonsense of [
      { words: ['[x]'] },
      { steps: [] },
      { ending: 'later' },
      { word: 'x' },
      [],
      null,
    ]) {
      expect(await call('POST', '/simulator/script', nonsense)).toMatchObject({ status: 400 })
    }
    expect(await call('POST', '/jobs', { prompt: 'a cat' })).toMatchObject({ status: 422 })
    expect(await call('POST', '/jobs', { prompt: 'a cat' })).toMatchObject({ status: 429 })
    expect((await job(await create('a cat'))).status).toBe('queued')
  })

  it('a task is ended by hand or over HTTP, as whatever is wanted', async () => {
    const { simulator, call, create, job } = await start()
    const [first, second, third] = [await create('x [stuck]'), await create('x'), await create('x [fail]')]
    simulator.finish(first)
    await call('POST', '/simulator/finish', { taskId: second, ending: 'cancelled' })
    await call('POST', '/simulator/finish', { taskId: third })
    expect((await job(first)).status).toBe('succeeded')
    expect((await job(second)).status).toBe('cancelled')
    expect((await job(third)).status).toBe('failed')
    // What has ended stays so.
    simulator.finish(first, 'failed')
    expect((await job(first)).status).toBe('succeeded')
    expect(() => simulator.finish('nobody')).toThrow('has no task nobody')
    expect(await call('POST', '/simulator/finish', { taskId: 'nobody' })).toMatchObject({ status: 404 })
    expect(await call('GET', '/simulator/elsewhere')).toMatchObject({ status: 404 })
  })
})

it('what was asked is logged, without files and without what is its own', async () => {
  const { clock, simulator, call, create, job } = await start()
  const id = await create('a cat')
  clock.now += 60_000
  await fetch((await job(id)).urls[0])
  await call('GET', '/nowhere?x=1')
  const shared = { userAgent: 'node', search: '' }
  const expected = [
    { ...shared, method: 'POST', path: '/jobs', taskId: id, at: clock.now - 60_000 },
    { ...shared, method: 'GET', path: `/jobs/${id}`, taskId: id, at: clock.now },
    { ...shared, method: 'GET', path: '/nowhere', search: '?x=1', at: clock.now },
  ]
  expect(simulator.requests()).toEqual(expected)
  expect((await call('GET', '/simulator/requests')).json).toEqual({ creates: 1, requests: expected })
})

it('a key is needed, and the right one where there is one', async () => {
  const { simulator } = await start({ apiKey: 'right' })
  const status = async (key: string) =>
    (await fetch(`${simulator.url}/jobs/x`, { headers: key ? { 'x-key': key } : {} })).status
  expect([await status(''), await status('wrong'), await status('right')]).toEqual([401, 401, 404])
})

it('tasks, cancelled ones too, survive a restart and go on where time has got to', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'simulator-'))
  cleanups.push(() => rm(folder, { recursive: true }))
  const stateFile = join(folder, 'state.json')
  const first = await start({ stateFile })
  const [running, ended] = [await first.create('a cat'), await first.create('a dog')]
  first.simulator.finish(ended, 'cancelled')
  await first.simulator.close()
  const second = await start({ stateFile })
  expect((await second.job(running)).status).toBe('queued')
  expect((await second.job(ended)).status).toBe('cancelled')
  second.clock.now += 60_000
  expect((await second.job(running)).status).toBe('succeeded')
  expect(second.simulator.creates()).toBe(2)
})

describe('result files', () => {
  async function fileOf(words: string, options: SimulatorOptions = {}) {
    const { clock, create, job, simulator } = await start(options)
    const id = await create(`a cat ${words}`)
    clock.now += 10_000
    const [url] = (await job(id)).urls as string[]
    return { clock, simulator, url: url ?? '', get: () => fetch(url ?? '', { redirect: 'manual' }) }
  }

  it('are there until the link expires', async () => {
    const { clock, get, url } = await fileOf('')
    const file = await get()
    expect(file.headers.get('content-type')).toBe('image/png')
    expect(
      Buffer.from(await file.arrayBuffer())
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG')
    expect((await fetch(url.replace('0.png', '1.png'))).status).toBe(404)
    expect((await fetch(url.replace(/\?.*/, ''))).status).toBe(403)
    clock.now += 60_000
    expect((await get()).status).toBe(403)
  })

  it.each([
    ['media-403', 403, 'text/plain'],
    ['media-404', 404, 'text/plain'],
    ['media-500', 500, 'text/plain'],
    ['media-html', 200, 'text/html'],
    ['media-type', 200, 'text/html'],
  ])('with [%s] are %i %s', async (word, status, type) => {
    const { get } = await fileOf(`[${word}]`)
    const response = await get()
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toBe(type)
    await response.arrayBuffer()
  })

  it('fail as often as is wanted, and are there then', async () => {
    const { get } = await fileOf('[media-403:2]')
    expect([(await get()).status, (await get()).status, (await get()).status]).toEqual([403, 403, 200])
  })

  it('break off half-way', async () => {
    const { get } = await fileOf('[media-cut]')
    const response = await get()
    expect(response.status).toBe(200)
    await expect(response.arrayBuffer()).rejects.toThrow()
  })

  it('lead to where nobody should go', async () => {
    const { get } = await fileOf('[media-redirect]')
    const response = await get()
    expect(response.status).toBe(302)
    expect(response.headers.get('location')).toBe('http://169.254.169.254/latest/meta-data/')
  })

  it('come drop by drop, and stop when nobody listens any more', async () => {
    const { get } = await fileOf('[media-slow]')
    const response = await get()
    const reader = response.body?.getReader()
    const first = await reader?.read()
    expect(first?.value?.length).toBeLessThan(Number(response.headers.get('content-length')) / 10)
    await reader?.cancel()
  })
})

describe('webhooks', () => {
  it('come when the clock says so', async () => {
    const { calls, url, close } = await receiveWebhooks()
    cleanups.push(close)
    const { create } = await start({ now: Date.now, speed: 100 })
    const id = await create('a cat', url)
    await expect.poll(() => calls.map(({ body }) => JSON.parse(body).id), patiently).toEqual([id])
  })

  it.each([
    ['', 1, 'well', 0],
    ['[hook-none]', 0, '', 0],
    ['[hook-twice]', 2, 'well', 0],
    ['[hook-forged]', 1, 'forged', 0],
    ['[hook-unsigned]', 1, 'unsigned', 0],
    ['[hook-stale]', 1, 'well', -600_000],
    ['[hook-future]', 1, 'well', 600_000],
  ])('with %j come %i times, signed %j for %i ms from now', async (words, times, fault, offMs) => {
    const { calls, url, close } = await receiveWebhooks()
    cleanups.push(close)
    const { clock, simulator, create } = await start()
    await create(`a cat ${words}`, url)
    await simulator.sendWebhooks()
    expect(calls).toEqual([])
    clock.now += 60_000
    await simulator.sendWebhooks()
    await simulator.sendWebhooks()
    expect(calls).toHaveLength(times)
    for (const { headers, body } of calls)
      expect(headers['x-signed']).toBe(`${fault} ${body.length} ${offMs}`)
  })

  it('are altered after signing', async () => {
    const { calls, url, close } = await receiveWebhooks()
    cleanups.push(close)
    const { clock, simulator, create } = await start()
    await create('a cat [hook-altered]', url)
    clock.now += 60_000
    await simulator.sendWebhooks()
    expect(JSON.parse(calls[0]?.body ?? '')).toMatchObject({ status: 'failed' })
  })

  it('come late, or before the create is answered', async () => {
    const { calls, url, close } = await receiveWebhooks()
    cleanups.push(close)
    const { clock, simulator, create } = await start()
    await create('a cat [hook-late:30]', url)
    clock.now += 8_000 + 29_000
    await simulator.sendWebhooks()
    expect(calls).toEqual([])
    clock.now += 1_000
    await simulator.sendWebhooks()
    expect(calls).toHaveLength(1)
    await create('a dog [hook-early]', url)
    expect(calls).toHaveLength(2)
  })

  it('that nobody takes are given up, and said so', async () => {
    const lines: string[] = []
    const { clock, simulator, create } = await start({ webhookRetryMs: 1, log: (line) => lines.push(line) })
    const id = await create('a cat', 'http://127.0.0.1:9/hook')
    clock.now += 60_000
    await simulator.sendWebhooks()
    expect(lines).toEqual([1, 2].map((attempt) => `callback ${attempt} for ${id}: no answer`))
    await simulator.sendWebhooks()
    expect(lines).toHaveLength(2)
  })
})

test('only bracketed words do anything', () => {
  const words = Object.keys(COMMON_BEHAVIOURS)
  const { read, strip } = createVocabulary<string>(COMMON_BEHAVIOURS)
  expect(read(words.join(' '))).toEqual({})
  expect(Object.keys(read(words.map((word) => `[${word}]`).join(''))).toSorted()).toEqual(words.toSorted())
  expect(read('[toString] [constructor] [fail ] a [Slow] cat [500:7]')).toEqual({ slow: null, '500': 7 })
  expect(strip('a [slow] cat [500:7] [sic]')).toBe('a cat [sic]')
})

test('whatever its steps, a task never goes back, and ends when it should', () => {
  const step = fc.record({
    phase: fc.constantFrom('queued' as const, 'working' as const),
    forMs: fc.nat({ max: 1_000 }),
  })
  const rank = { queued: 0, working: 0, succeeded: 1, failed: 1, cancelled: 1 }
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1, maxLength: 6 }),
      fc.constantFrom('succeeded' as const, 'failed' as const, 'never' as const),
      fc.option(fc.nat({ max: 3_000 })),
      fc.array(fc.nat({ max: 8_000 }), { maxLength: 20 }),
      (steps, ending, cancelAt, times) => {
        const plan = {
          model: 'm',
          prompt: '',
          request: '',
          behaviours: {},
          createdAt: 0,
          speed: 1,
          random: () => 0.5,
        }
        const task: SimulatedTask = planTask({ ...plan, taskId: 't', script: { steps, ending } })
        if (cancelAt !== null) endEarly(task, cancelAt, 'cancelled')
        const end = endOf(task)
        let last = 0
        for (const now of times.toSorted((a, b) => a - b)) {
          const { phase, endedAt, progress } = stateAt(task, now)
          expect(rank[phase]).toBeGreaterThanOrEqual(last)
          last = rank[phase]
          expect(endedAt !== null).toBe(end !== null && end <= now)
          expect(progress >= 0 && progress <= 100).toBe(true)
        }
      },
    ),
  )
})
