import RunwayML, { TaskFailedError } from '@runwayml/sdk'
import { afterEach, expect, test } from 'vitest'
import { startSmallServer } from '../../../test/small-server.ts'
import { toQueryOutcome } from '../http-api/readings.ts'
import type { Provider } from '../provider.ts'
import type { Simulator } from '../simulation/simulator.ts'
import { readTask } from './read-task.ts'
import { requestOf } from './request-of.ts'
import { createRunway } from './runway.ts'
import { type RunwaySimulatorOptions, startRunwaySimulator } from './simulator/start-runway-simulator.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const models = { image: 'gen4_image', video: 'gen4.5' }
const routes = { image: 'text_to_image', video: 'text_to_video' }
const never = new AbortController().signal

async function setUp(options: RunwaySimulatorOptions = {}) {
  const clock = { now: Date.parse('2026-11-16T08:00:00Z') }
  const now = () => clock.now
  const simulator = await startRunwaySimulator({ now, random: () => 0.5, ...options })
  const runway = createRunway({ apiKey: 'key', baseUrl: simulator.url, models, now })
  cleanups.push(
    () => simulator.close(),
    () => runway.close(),
  )
  return { clock, simulator, runway }
}

function create(runway: Provider, params: Record<string, unknown>, type = 'video') {
  return runway.create({ taskId: 't', type, params }, never)
}

async function accepted(runway: Provider, params: Record<string, unknown>, type = 'video') {
  const outcome = await create(runway, params, type)
  if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`)
  return outcome.externalId
}

/** Where the last create went. */
function lastPath(simulator: Simulator) {
  return simulator.requests().findLast(({ method }) => method === 'POST')?.path
}

test('Shows 4: the client of Runway itself goes from create to result', async () => {
  const { simulator } = await setUp({ now: Date.now, speed: 1_000 })
  const client = new RunwayML({ apiKey: 'key', baseURL: simulator.url })
  const { id } = await client.imageToVideo.create({
    model: 'gen4.5',
    promptImage: 'https://example.com/boat.jpg',
    promptText: 'a boat leaves the harbour',
    ratio: '1280:720',
    duration: 5,
  })
  await expect.poll(async () => (await client.tasks.retrieve(id)).status).toBe('SUCCEEDED')
  const task = await client.tasks.retrieve(id).waitForTaskOutput()
  expect((await fetch(task.output[0] ?? '')).headers.get('content-type')).toBe('video/mp4')
  expect(await client.organization.retrieve()).toMatchObject({
    usage: { models: { 'gen4.5': { dailyGenerations: 1 } } },
  })

  const failed = await client.textToVideo.create({
    model: 'gen4.5',
    promptText: 'a cat [nsfw]',
    ratio: '1280:720',
    duration: 5,
  })
  await expect.poll(async () => (await client.tasks.retrieve(failed.id)).status).toBe('FAILED')
  await expect(client.tasks.retrieve(failed.id).waitForTaskOutput()).rejects.toThrow(TaskFailedError)

  await client.tasks.delete(id)
  await expect(client.tasks.retrieve(id)).rejects.toMatchObject({ status: 404 })
})

test('without the version header nothing is answered', async () => {
  const { simulator } = await setUp()
  const headers = { authorization: 'Bearer key', 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'gen4.5', promptText: 'a cat', ratio: '1280:720', duration: 5 })
  for (const [path, init] of [
    ['/v1/text_to_video', { method: 'POST', headers, body }],
    ['/v1/organization', { headers }],
  ] as const) {
    expect((await fetch(simulator.url + path, init)).status).toBe(400)
  }
  expect(simulator.creates()).toBe(0)
})

test('P4 what is over the concurrency waits as THROTTLED, which is running, and then works', async () => {
  const { clock, simulator, runway } = await setUp({ concurrency: 1 })
  const client = new RunwayML({ apiKey: 'key', baseURL: simulator.url })
  const first = await accepted(runway, { prompt: 'a cat' })
  const second = await accepted(runway, { prompt: 'a dog' })
  clock.now += 10_000
  expect(await client.tasks.retrieve(second)).toMatchObject({ status: 'THROTTLED' })
  expect(await runway.query(second, never)).toEqual({ kind: 'running', progress: null })
  clock.now += 15_000
  expect(await runway.query(first, never)).toMatchObject({ kind: 'succeeded' })
  expect(await runway.query(second, never)).toMatchObject({ kind: 'running' })
  clock.now += 25_000
  expect(await runway.query(second, never)).toMatchObject({ kind: 'succeeded' })
})

test('Q9 a cancel makes room for the one that waits', async () => {
  const { clock, runway } = await setUp({ concurrency: 1 })
  const first = await accepted(runway, { prompt: 'a cat [stuck]' })
  const second = await accepted(runway, { prompt: 'a dog' })
  clock.now += 100_000
  expect(await runway.query(second, never)).toEqual({ kind: 'running', progress: null })
  expect(await runway.cancel?.(first, never)).toBe(true)
  expect(await runway.query(first, never)).toEqual({ kind: 'cancelled' })
  clock.now += 25_000
  expect(await runway.query(second, never)).toMatchObject({ kind: 'succeeded' })
})

test('Q9 a task deleted by somebody else is not found; one deleted by us is cancelled', async () => {
  const { simulator, runway } = await setUp()
  const client = new RunwayML({ apiKey: 'key', baseURL: simulator.url })
  const id = await accepted(runway, { prompt: 'a cat' })
  await client.tasks.delete(id)
  expect(await runway.query(id, never)).toEqual({ kind: 'not-found' })
  expect(await runway.cancel?.(id, never)).toBe(true)
  expect(await runway.query(id, never)).toEqual({ kind: 'cancelled' })
})

test('E3 at the daily cap a create is not accepted, and is a day later', async () => {
  const { clock, simulator, runway } = await setUp({ rateLimit: { count: 1, windowMs: 86_400_000 } })
  await accepted(runway, { prompt: 'a cat' })
  expect(await create(runway, { prompt: 'a cat' })).toMatchObject({
    kind: 'not-accepted',
    retryAfterMs: 60_000,
  })
  clock.now += 86_400_000
  await accepted(runway, { prompt: 'a cat' })
  expect(simulator.creates()).toBe(2)
})

test('O3 each poll and each refresh gives another URL, and all of them work', async () => {
  const { clock, runway } = await setUp()
  const externalId = await accepted(runway, { prompt: 'a cat' }, 'image')
  clock.now += 10_000
  const done = await runway.query(externalId, never)
  const url = (done.kind === 'succeeded' && done.outputs[0]?.url) || ''
  const fresh = await runway.refresh?.({ externalId, url, ordinal: 0 }, never)
  expect(fresh).toMatchObject({ kind: 'refreshed', urlLifetimeMs: 86_400_000 })
  if (fresh?.kind !== 'refreshed') throw new Error('not refreshed')
  expect(fresh.url).not.toBe(url)
  expect((await fetch(fresh.url)).status).toBe(200)
  expect(await runway.refresh?.({ externalId, url, ordinal: 7 }, never)).toMatchObject({ kind: 'gone' })
  await runway.cancel?.(externalId, never)
  expect(await runway.refresh?.({ externalId, url, ordinal: 0 }, never)).toMatchObject({ kind: 'gone' })
})

test('P4 a result that comes late is not lost, and one that never comes is told', async () => {
  const { clock, runway } = await setUp()
  const late = await accepted(runway, { prompt: 'a cat [late-result]' })
  const empty = await accepted(runway, { prompt: 'a cat [empty-result]' })
  clock.now += 30_000
  expect(await runway.query(late, never)).toMatchObject({ kind: 'inconclusive' })
  expect(await runway.query(late, never)).toMatchObject({ kind: 'inconclusive' })
  expect(await runway.query(late, never)).toMatchObject({ kind: 'succeeded' })
  expect(await runway.query(empty, never)).toMatchObject({ kind: 'inconclusive' })
  clock.now += 119_000
  expect(await runway.query(empty, never)).toMatchObject({ kind: 'inconclusive' })
  clock.now += 1_000
  expect(await runway.query(empty, never)).toMatchObject({ kind: 'failed', code: 'RESULT_UNREADABLE' })
})

test('F8 an account without credits is told as such, though it comes as a bad request', async () => {
  const server = await startSmallServer(() => ({
    status: 400,
    json: { error: 'You do not have enough credits to run this task.' },
  }))
  cleanups.push(() => server.close())
  const runway = createRunway({ apiKey: 'key', baseUrl: server.url, models })
  cleanups.push(() => runway.close())
  expect(await create(runway, { prompt: 'x' })).toMatchObject({ kind: 'refused', code: 'PROVIDER_QUOTA' })
})

test('F8 the path comes from the type and from a picture to start with', async () => {
  const { simulator, runway } = await setUp()
  await accepted(runway, { prompt: 'a cat' }, 'image')
  expect(lastPath(simulator)).toBe('/v1/text_to_image')
  await accepted(runway, { prompt: 'a cat' }, 'video')
  expect(lastPath(simulator)).toBe('/v1/text_to_video')
  await accepted(runway, { prompt: 'a cat', promptImage: 'https://example.com/cat.png' }, 'video')
  expect(lastPath(simulator)).toBe('/v1/image_to_video')
})

test.each([
  [
    { type: 'video', params: { prompt: 'a cat' } },
    { model: 'gen4.5', promptText: 'a cat', ratio: '1280:720', duration: 5 },
  ],
  [
    { type: 'image', params: { prompt: 'a cat', aspect_ratio: '1:1' } },
    { model: 'gen4_image', promptText: 'a cat', ratio: '1024:1024' },
  ],
  [
    {
      type: 'video',
      params: { prompt: 'a cat', promptImage: 'https://x.example/a.png', aspect_ratio: '3:4' },
    },
    { ratio: '832:1104', promptImage: 'https://x.example/a.png' },
  ],
  [
    {
      type: 'video',
      model: 'veo3.1',
      params: { promptText: 'own words', ratio: '720:1280', duration: 10, seed: 7, model: 'another' },
    },
    { model: 'veo3.1', promptText: 'own words', ratio: '720:1280', duration: 10, seed: 7 },
  ],
])('F8 %j is sent as %j', (request, body) => {
  expect(requestOf(request, { models, routes })).toMatchObject({ body })
})

test.each([
  [{ type: 'music', params: { prompt: 'x' } }, /no model for “music”/],
  [{ type: 'music', model: 'm', params: { prompt: 'x' } }, /not set what “music” asks/],
  [{ type: 'video', params: { prompt: 'x', aspect_ratio: '1:1' } }, /cannot be made here. Choose 16:9, 9:16/],
  [{ type: 'toString', model: 'm', params: { prompt: 'x' } }, /not set/],
])('F8 %j is refused before anything is sent', (request, reason) => {
  expect(requestOf(request, { models, routes })).toEqual({ refuse: expect.stringMatching(reason) })
})

const read = (json: unknown) =>
  toQueryOutcome(
    readTask({ json }, 'id-1', () => {}),
    1,
  )

test.each([
  ['SAFETY.INPUT.TEXT', 'CONTENT_REFUSED', false],
  ['SAFETY.OUTPUT.VIDEO', 'CONTENT_REFUSED', false],
  ['INPUT_PREPROCESSING.SAFETY.TEXT', 'CONTENT_REFUSED', false],
  ['THIRD_PARTY.SAFETY', 'CONTENT_REFUSED', false],
  ['INTERNAL.BAD_OUTPUT.CODE01', 'PROVIDER_FAILED', true],
  ['INTERNAL', 'PROVIDER_FAILED', true],
  ['ASSET.INVALID', 'PROVIDER_FAILED', false],
  ['UNSAFETYLIKE.THING', 'PROVIDER_FAILED', true],
  [undefined, 'PROVIDER_FAILED', true],
])('P4 failureCode %s is %s, retryable %s', (failureCode, code, retryable) => {
  expect(read({ id: 'id-1', status: 'FAILED', failure: 'words', failureCode })).toMatchObject({
    kind: 'failed',
    code,
    retryable,
  })
})

test.each([
  [0, 0],
  [0.42, 42],
  [1, 100],
  [57, 57],
  [-1, 0],
  ['0.5', null],
  [undefined, null],
])('P4 progress %j is %j per cent', (progress, percent) => {
  expect(read({ id: 'id-1', status: 'RUNNING', progress })).toEqual({ kind: 'running', progress: percent })
})
