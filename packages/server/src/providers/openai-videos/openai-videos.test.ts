import OpenAI from 'openai'
import { afterEach, expect, test } from 'vitest'
import { startSmallServer } from '../../../test/small-server.ts'
import type { Provider } from '../provider.ts'
import { signStandardWebhook } from '../webhook-signatures/standard-webhooks.ts'
import { createOpenAiVideos, type OpenAiVideosOptions } from './openai-videos.ts'
import {
  type OpenAiVideosSimulatorOptions,
  startOpenAiVideosSimulator,
} from './simulator/start-openai-videos-simulator.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const SECRET = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const never = new AbortController().signal
const MINUTE = 60_000

async function setUp(
  options: OpenAiVideosSimulatorOptions = {},
  { settings = {} }: { settings?: Partial<OpenAiVideosOptions> } = {},
) {
  const clock = { now: Date.parse('2026-11-16T08:00:00Z') }
  const now = () => clock.now
  const simulator = await startOpenAiVideosSimulator({ now, random: () => 0.5, ...options })
  const baseUrl = `${simulator.url}/v1`
  const videos = createOpenAiVideos({ apiKey: 'key', baseUrl, models: { video: 'sora-2' }, now, ...settings })
  cleanups.push(
    () => simulator.close(),
    () => videos.close(),
  )
  const client = new OpenAI({ apiKey: 'key', baseURL: baseUrl, webhookSecret: SECRET })
  return { clock, simulator, videos, client, baseUrl }
}

async function accepted(videos: Provider, params: Record<string, unknown>) {
  const outcome = await videos.create({ taskId: 't', type: 'video', params }, never)
  if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`)
  return outcome.externalId
}

test('Shows 4: the client of OpenAI itself goes from create to bytes', async () => {
  const { client } = await setUp({ now: Date.now, speed: 1_000 })
  const { id, seconds, size } = await client.videos.create({
    prompt: 'waves at night',
    model: 'sora-2',
    seconds: '8',
    size: '1280x720',
  })
  expect({ seconds, size }).toEqual({ seconds: '8', size: '1280x720' })
  await expect.poll(async () => (await client.videos.retrieve(id)).status).toBe('completed')
  const content = await client.videos.downloadContent(id)
  expect(content.headers.get('content-type')).toBe('video/mp4')
  expect((await content.arrayBuffer()).byteLength).toBeGreaterThan(10_000)

  const listed: string[] = []
  for await (const video of client.videos.list({ limit: 1 })) listed.push(video.id)
  expect(listed).toEqual([id])
  expect(await client.videos.delete(id)).toMatchObject({ deleted: true })
  await expect(client.videos.retrieve(id)).rejects.toMatchObject({ status: 404 })
})

test('the client sends a file along, and the simulator reads its form', async () => {
  const { client } = await setUp()
  const picture = new File([new Uint8Array([137, 80, 78, 71])], 'cat.png', { type: 'image/png' })
  const video = await client.videos.create({ prompt: 'line one\r\n\r\nline two', input_reference: picture })
  expect(video).toMatchObject({ status: 'queued', model: 'sora-2', seconds: '4' })
})

test('a webhook of the simulator is unwrapped by the client of OpenAI', async () => {
  const { simulator, client, videos } = await setUp({ now: Date.now, speed: 1_000 })
  const receiver = await startSmallServer(() => ({ status: 204 }))
  cleanups.push(() => receiver.close())
  simulator.setWebhook({ url: receiver.url, secret: SECRET })
  const id = await accepted(videos, { prompt: 'a cat' })
  await expect.poll(() => receiver.requests.length, { timeout: 10_000 }).toBe(1)
  const [call] = receiver.requests
  const event: unknown = await client.webhooks.unwrap(call?.body ?? '', call?.headers ?? {})
  expect(event).toMatchObject({ type: 'video.completed', data: { id } })
})

test.each(['json', 'multipart'] as const)(
  'F8 a create as %s is taken with all its fields',
  async (createAs) => {
    const { videos, client } = await setUp({}, { settings: { createAs } })
    const id = await accepted(videos, { prompt: 'a cat', seconds: 8, aspect_ratio: '16:9' })
    expect(await client.videos.retrieve(id)).toMatchObject({
      seconds: '8',
      size: '1280x720',
      model: 'sora-2',
    })
  },
)

test('F8 a picture given as a data URL becomes a file of the form', async () => {
  const { videos, simulator } = await setUp({}, { settings: { createAs: 'multipart' } })
  const image_url = `data:image/png;base64,${Buffer.from('not a picture').toString('base64')}`
  await accepted(videos, { prompt: 'a cat', input_reference: { image_url } })
  expect(simulator.creates()).toBe(1)
})

test.each([
  [{ prompt: 'x', aspect_ratio: '1:1' }, 'video', /The shape 1:1 cannot be made here. Choose 16:9, 9:16/],
  [{ prompt: 'x' }, 'image', /no model for “image”/],
])('F8 %j is refused before anything is sent', async (params, type, message) => {
  const { videos, simulator } = await setUp()
  expect(await videos.create({ taskId: 't', type, params }, never)).toMatchObject({
    kind: 'refused',
    code: 'SUBMIT_REFUSED',
    message: expect.stringMatching(message),
  })
  expect(simulator.requests()).toEqual([])
})

test('O3 the bytes are behind the key until they expire, and then are gone for good', async () => {
  const { clock, videos, baseUrl } = await setUp()
  const id = await accepted(videos, { prompt: 'a cat' })
  clock.now += 25_000
  const done = await videos.query(id, never)
  expect(done).toEqual({
    kind: 'succeeded',
    outputs: [
      { url: `${baseUrl}/videos/${id}/content`, contentType: 'video/mp4', urlLifetimeMs: 60 * MINUTE },
    ],
  })
  const url = `${baseUrl}/videos/${id}/content`
  expect((await fetch(url)).status).toBe(401)
  const headers = videos.sourceHeaders?.(url) ?? {}
  expect((await fetch(url, { headers })).status).toBe(200)

  clock.now += 30 * MINUTE
  expect(await videos.refresh?.({ externalId: id, url, ordinal: 0 }, never)).toEqual({
    kind: 'refreshed',
    url,
    urlLifetimeMs: 30 * MINUTE,
  })
  clock.now += 30 * MINUTE
  expect((await fetch(url, { headers })).status).toBe(404)
  expect(await videos.refresh?.({ externalId: id, url, ordinal: 0 }, never)).toMatchObject({ kind: 'gone' })
  expect(await videos.query(id, never)).toMatchObject({ kind: 'failed', code: 'PROVIDER_FAILED' })
})

test('S3 the key goes with videos of the gateway only', async () => {
  const { videos, baseUrl } = await setUp()
  const { origin } = new URL(baseUrl)
  expect(videos.sourceHeaders?.(`${baseUrl}/videos/v/content`)).toEqual({ authorization: 'Bearer key' })
  for (const url of [
    `${origin}/v2/videos/v`,
    `${origin}.evil.example/v1/videos/v`,
    'https://x.example/v1/videos/v',
  ]) {
    expect(videos.sourceHeaders?.(url)).toEqual({})
  }
})

test('P4 what a gateway leaves out is not needed', async () => {
  const { clock, videos } = await setUp()
  const id = await accepted(videos, { prompt: 'a cat [no-progress][no-expiry]' })
  expect(await videos.query(id, never)).toEqual({ kind: 'running', progress: null })
  clock.now += MINUTE
  expect(await videos.query(id, never)).toMatchObject({
    kind: 'succeeded',
    outputs: [{ urlLifetimeMs: 60 * MINUTE }],
  })
})

test('F8 a lost create is never taken for found; it is absent only if the list shows older ones and no newer', async () => {
  const { clock, videos, simulator } = await setUp()
  const find = (sentAtMs: number) =>
    videos.find?.({ taskId: 't', type: 'video', params: { prompt: 'a cat' }, sentAtMs }, never)

  // Nothing in the list at all proves nothing.
  expect(await find(clock.now - 5 * MINUTE)).toMatchObject({ kind: 'inconclusive' })

  await accepted(videos, { prompt: 'an older one' })
  clock.now += 20 * MINUTE
  const sentAtMs = clock.now
  expect(await find(sentAtMs)).toMatchObject({
    kind: 'inconclusive',
    reason: expect.stringMatching(/not be in the list yet/),
  })
  clock.now += 2 * MINUTE
  expect(await find(sentAtMs)).toEqual({ kind: 'absent' })

  simulator.script('lost')
  await videos.create({ taskId: 't', type: 'video', params: { prompt: 'a cat' } }, never)
  clock.now += 2 * MINUTE
  expect(await find(clock.now - MINUTE)).toMatchObject({ kind: 'inconclusive' })
  expect(simulator.creates()).toBe(2)
})

test('S2 events of other kinds are none of ours, and events without a video cannot be read', async () => {
  const { videos } = await setUp({}, { settings: { webhookSecret: SECRET } })
  const receivedAtMs = Date.parse('2026-11-16T08:00:00Z')
  const read = (event: unknown) => {
    const body = JSON.stringify(event)
    const timestamp = receivedAtMs / 1000
    const headers = {
      'webhook-id': 'wh_1',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signStandardWebhook(SECRET, { id: 'wh_1', timestamp, body }),
    }
    return videos.readWebhook?.({ headers, body: new Uint8Array(Buffer.from(body)), receivedAtMs })
  }
  expect(await read({ type: 'video.completed', data: { id: 'video_1' } })).toEqual({
    kind: 'about',
    externalId: 'video_1',
    deliveryId: 'wh_1',
    isSigned: true,
  })
  expect(await read({ type: 'response.completed', data: { id: 'resp_1' } })).toEqual({ kind: 'irrelevant' })
  expect(await read({ type: 'video.failed', data: {} })).toMatchObject({ kind: 'unreadable' })
  expect(await read('words')).toMatchObject({ kind: 'unreadable' })
})

test('S2 without a secret no webhook is read', async () => {
  expect((await setUp()).videos.readWebhook).toBeUndefined()
})

test.each([
  [
    429,
    { code: 'insufficient_quota', message: 'You exceeded your current quota' },
    { code: 'PROVIDER_QUOTA' },
  ],
  [400, { code: 'moderation_blocked', message: 'no' }, { code: 'CONTENT_REFUSED' }],
  [400, { code: 'invalid_value', message: 'bad size' }, { code: 'SUBMIT_REFUSED' }],
])('F8 HTTP %i with %j is %j', async (status, error, outcome) => {
  const server = await startSmallServer(() => ({ status, json: { error } }))
  cleanups.push(() => server.close())
  const videos = createOpenAiVideos({
    apiKey: 'key',
    baseUrl: server.url,
    models: { video: 'm' },
  })
  cleanups.push(() => videos.close())
  expect(await videos.create({ taskId: 't', type: 'video', params: { prompt: 'x' } }, never)).toMatchObject({
    kind: 'refused',
    ...outcome,
  })
})
