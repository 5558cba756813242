import { afterEach, expect, test } from 'vitest'
import type { Provider } from '../provider.ts'
import { createLumaAgents } from './luma-agents.ts'
import {
  type LumaAgentsSimulatorOptions,
  startLumaAgentsSimulator,
} from './simulator/start-luma-agents-simulator.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const models = { image: 'uni-1', video: 'ray-3.2', retouch: 'uni-1' }
const never = new AbortController().signal

async function setUp(options: LumaAgentsSimulatorOptions = {}) {
  const clock = { now: Date.parse('2026-11-16T08:00:00Z') }
  const now = () => clock.now
  const simulator = await startLumaAgentsSimulator({ now, random: () => 0.5, ...options })
  const luma = createLumaAgents({
    apiKey: 'luma-api-key',
    baseUrl: `${simulator.url}/v1`,
    models,
    kinds: { retouch: 'image_edit' },
    now,
  })
  cleanups.push(
    () => simulator.close(),
    () => luma.close(),
  )
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${simulator.url}/v1${path}`, {
      ...init,
      headers: { authorization: 'Bearer luma-api-key', 'x-request-id': 'trace-1' },
    })
  return { clock, simulator, luma, ask }
}

async function accepted(luma: Provider, params: Record<string, unknown>, type = 'image') {
  const outcome = await luma.create({ taskId: 't', type, params }, never)
  if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`)
  return outcome.externalId
}

test('F8 what is made follows from the type, and may be set', async () => {
  const { luma, ask } = await setUp()
  const kindOf = async (id: string) =>
    ((await (await ask(`/generations/${id}`)).json()) as { type: string; model: string }).type
  expect(await kindOf(await accepted(luma, { prompt: 'a cat' }))).toBe('image')
  expect(await kindOf(await accepted(luma, { prompt: 'a cat' }, 'video'))).toBe('video')
  // What is made is what the price is for: nobody's parameters say so.
  expect(await kindOf(await accepted(luma, { prompt: 'a cat', type: 'video_edit' }, 'video'))).toBe('video')
  expect(await kindOf(await accepted(luma, { prompt: 'a cat' }, 'retouch'))).toBe('image_edit')
  expect(await luma.create({ taskId: 't', type: 'music', params: { prompt: 'x' } }, never)).toMatchObject({
    kind: 'refused',
    message: expect.stringMatching(/no model for “music”/),
  })
})

test('E3 both kinds of 429 are waited out as told', async () => {
  const perMinute = await setUp({ rateLimit: { count: 1, windowMs: 20_000 } })
  await accepted(perMinute.luma, { prompt: 'a cat' })
  const limited = await perMinute.luma.create({ taskId: 't', type: 'image', params: { prompt: 'x' } }, never)
  expect(limited).toMatchObject({ kind: 'not-accepted', retryAfterMs: 20_000 })
  const told = await perMinute.ask('/generations', {
    method: 'POST',
    body: JSON.stringify({ prompt: 'x', model: 'uni-1', type: 'image' }),
  })
  expect(told.headers.get('x-ratelimit-limit')).toBe('1')

  const atOnce = await setUp({ concurrency: 1 })
  await accepted(atOnce.luma, { prompt: 'a cat' })
  const full = await atOnce.luma.create({ taskId: 't', type: 'image', params: { prompt: 'x' } }, never)
  expect(full).toMatchObject({ kind: 'not-accepted', retryAfterMs: 60_000 })
  atOnce.clock.now += 8_000
  await accepted(atOnce.luma, { prompt: 'a cat' })
})

test('P4 unknown and malformed ids are told in the same words, and are not found', async () => {
  const { luma, ask } = await setUp()
  const ids = ['0199f000-0000-7000-8000-000000000001', 'no-uuid-at-all']
  const texts = await Promise.all(ids.map(async (id) => (await ask(`/generations/${id}`)).text()))
  expect(new Set(texts).size).toBe(1)
  for (const id of ids) expect(await luma.query(id, never)).toEqual({ kind: 'not-found' })
})

test('answers carry the request id and the version', async () => {
  const { headers } = await (await setUp()).ask('/generations/x')
  expect(headers.get('x-request-id')).toBe('trace-1')
  expect(headers.get('x-api-version')).not.toBeNull()
})

test('O3 a dead URL is refreshed by asking again; each answer has another', async () => {
  const { clock, luma } = await setUp()
  const externalId = await accepted(luma, { prompt: 'a cat' })
  clock.now += 10_000
  const done = await luma.query(externalId, never)
  const url = (done.kind === 'succeeded' && done.outputs[0]?.url) || ''
  clock.now += 60 * 60_000
  expect((await fetch(url)).status).toBe(403)
  const fresh = await luma.refresh?.({ externalId, url, ordinal: 0 }, never)
  if (fresh?.kind !== 'refreshed') throw new Error('not refreshed')
  expect((await fetch(fresh.url)).status).toBe(200)
})

test('P4 completed without an output waits a little, then is unreadable', async () => {
  const { clock, luma } = await setUp()
  const id = await accepted(luma, { prompt: 'a cat [empty-result]' })
  clock.now += 10_000
  expect(await luma.query(id, never)).toMatchObject({ kind: 'inconclusive' })
  clock.now += 120_000
  expect(await luma.query(id, never)).toMatchObject({ kind: 'failed', code: 'RESULT_UNREADABLE' })
})
