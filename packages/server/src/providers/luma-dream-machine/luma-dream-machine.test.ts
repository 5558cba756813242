import LumaAI from 'lumaai'
import { afterEach, expect, test } from 'vitest'
import { startSmallServer } from '../../../test/small-server.ts'
import type { Provider } from '../provider.ts'
import { createLumaDreamMachine } from './luma-dream-machine.ts'
import {
  type LumaDreamMachineSimulatorOptions,
  startLumaDreamMachineSimulator,
} from './simulator/start-luma-dream-machine-simulator.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const models = { image: 'photon-1', video: 'ray-2' }
const never = new AbortController().signal
const MINUTE = 60_000
const HOOK = 'https://us.example/v1/webhooks/luma-dream-machine/secret-of-this-task'

async function setUp(options: LumaDreamMachineSimulatorOptions = {}) {
  const clock = { now: Date.parse('2026-11-16T08:00:00Z') }
  const now = () => clock.now
  const simulator = await startLumaDreamMachineSimulator({ now, random: () => 0.5, ...options })
  const baseUrl = `${simulator.url}/dream-machine/v1`
  const luma = createLumaDreamMachine({ apiKey: 'luma-key', baseUrl, models, now })
  cleanups.push(
    () => simulator.close(),
    () => luma.close(),
  )
  const client = new LumaAI({ authToken: 'luma-key', baseURL: baseUrl, maxRetries: 0 })
  return { clock, simulator, luma, client }
}

function create(luma: Provider, params: Record<string, unknown>, type = 'video', callbackUrl?: string) {
  return luma.create({ taskId: 't', type, params, ...(callbackUrl ? { callbackUrl } : {}) }, never)
}

async function accepted(
  luma: Provider,
  params: Record<string, unknown>,
  type?: string,
  callbackUrl?: string,
) {
  const outcome = await create(luma, params, type, callbackUrl)
  if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`)
  return outcome.externalId
}

test('Shows 4: the client of Luma itself goes from create to result', async () => {
  const { client } = await setUp({ now: Date.now, speed: 1_000 })
  const { id = '' } = await client.generations.video.create({ model: 'ray-2', prompt: 'a lake at dusk' })
  await expect.poll(async () => (await client.generations.get(id)).state).toBe('completed')
  const { assets } = await client.generations.get(id)
  expect((await fetch(assets?.video ?? '')).headers.get('content-type')).toBe('video/mp4')

  const picture = await client.generations.image.create({ model: 'photon-1', prompt: 'a lake' })
  await expect.poll(async () => (await client.generations.get(picture.id ?? '')).state).toBe('completed')
  expect(await client.generations.list({ limit: 1 })).toMatchObject({
    generations: [{ id: picture.id }],
    has_more: true,
    count: 2,
  })
  expect(await client.credits.get()).toMatchObject({ credit_balance: 100_000 - 42 })

  await client.generations.delete(id)
  await expect(client.generations.get(id)).rejects.toMatchObject({ status: 404 })
})

test('F8 the model decides the path, and what the type lets through is sent as it is', async () => {
  const { luma, client, simulator } = await setUp()
  const keyframes = { frame0: { type: 'image', url: 'https://example.com/a.jpg' } }
  const id = await accepted(luma, { prompt: 'a lake', keyframes, aspect_ratio: '9:16' }, 'video', HOOK)
  expect((await client.generations.get(id)).request).toEqual({
    prompt: 'a lake',
    keyframes,
    aspect_ratio: '9:16',
    model: 'ray-2',
    callback_url: HOOK,
  })
  await accepted(luma, { prompt: 'a lake' }, 'image')
  const chosen = { taskId: 't', type: 'video', params: { prompt: 'a lake' }, model: 'photon-flash-1' }
  expect(await luma.create(chosen, never)).toMatchObject({ kind: 'accepted' })
  const posts = simulator.requests().filter(({ method }) => method === 'POST')
  expect(posts.map(({ path }) => path.replace('/dream-machine/v1/generations', ''))).toEqual([
    '/video',
    '/image',
    '/image',
  ])
  expect(await create(luma, { prompt: 'x' }, 'music')).toMatchObject({ kind: 'refused' })
  expect(simulator.creates()).toBe(3)
})

test.each([HOOK, undefined])('a callback URL of the user’s never reaches Luma; ours is %s', async (hook) => {
  const { luma, client } = await setUp()
  const theirs = 'https://elsewhere.example/listen'
  const params = { prompt: 'a lake', callback_url: theirs, callbackUrl: theirs, Callback_URL: theirs }
  const { request } = await client.generations.get(await accepted(luma, params, 'video', hook))
  expect(request).toEqual({ prompt: 'a lake', model: 'ray-2', ...(hook ? { callback_url: hook } : {}) })
})

test('E3 what is over the concurrency is not accepted, and is when one has ended', async () => {
  const { clock, luma } = await setUp({ concurrency: 1 })
  await accepted(luma, { prompt: 'a lake' })
  expect(await create(luma, { prompt: 'a sea' })).toMatchObject({
    kind: 'not-accepted',
    retryAfterMs: MINUTE,
  })
  clock.now += 25_000
  await accepted(luma, { prompt: 'a sea' })
})

test('webhooks come several times for each state, unsigned, and each is only about its generation', async () => {
  const { clock, simulator, luma } = await setUp()
  const receiver = await startSmallServer((_request, nth) => ({ status: nth === 1 ? 500 : 200 }))
  cleanups.push(() => receiver.close())
  const id = await accepted(luma, { prompt: 'a lake' }, 'video', receiver.url)
  clock.now += MINUTE
  await simulator.sendWebhooks()
  const states = receiver.requests.map(({ body }) => (JSON.parse(body) as { state: string }).state)
  // The first was not taken, and comes again.
  expect(states).toEqual(['dreaming', 'dreaming', 'dreaming', 'completed', 'completed'])
  for (const { headers, body } of receiver.requests) {
    const call = { headers, body: new Uint8Array(Buffer.from(body)), receivedAtMs: clock.now }
    expect(await luma.readWebhook?.(call)).toEqual({
      kind: 'about',
      externalId: id,
      deliveryId: null,
      isSigned: false,
    })
  }
})

test('P4 completed without assets waits a little, then is unreadable', async () => {
  const { clock, luma } = await setUp()
  const id = await accepted(luma, { prompt: 'a lake [no-assets]' })
  clock.now += MINUTE
  expect(await luma.query(id, never)).toMatchObject({ kind: 'inconclusive' })
  clock.now += 2 * MINUTE
  expect(await luma.query(id, never)).toMatchObject({ kind: 'failed', code: 'RESULT_UNREADABLE' })
})

test('Q9 what was removed is cancelled to whoever removed it, and not found to anybody else', async () => {
  const { luma, client, simulator } = await setUp()
  const ours = await accepted(luma, { prompt: 'a lake' })
  const theirs = await accepted(luma, { prompt: 'a lake' })
  expect(await luma.cancel?.(ours, never)).toBe(true)
  await client.generations.delete(theirs)
  expect(await luma.query(ours, never)).toEqual({ kind: 'cancelled' })
  expect(await luma.query(theirs, never)).toEqual({ kind: 'not-found' })
  await simulator.close()
  expect(await luma.cancel?.(ours, never)).toBe(false)
})

test('F8 a lost create is found behind many others, and absent only once the list must have it', async () => {
  const { clock, luma, simulator } = await setUp({
    rateLimit: { count: 1_000, windowMs: 1 },
    concurrency: 1_000,
  })
  const sentAtMs = clock.now
  simulator.script('lost')
  expect(await create(luma, { prompt: 'a lake' }, 'image', HOOK)).toMatchObject({ kind: 'unknown' })
  for (let made = 0; made < 120; made++)
    await accepted(luma, { prompt: 'another' }, 'image', `${HOOK}-${made}`)
  const find = (callbackUrl: string | undefined, sentAt = sentAtMs) =>
    luma.find?.(
      { taskId: 't', type: 'image', params: {}, sentAtMs: sentAt, ...(callbackUrl ? { callbackUrl } : {}) },
      never,
    )
  const found = await find(HOOK)
  expect(found).toMatchObject({ kind: 'found' })
  expect(simulator.requests().filter(({ search }) => search !== '')).toHaveLength(2)
  expect(await find('https://us.example/never-sent')).toMatchObject({
    kind: 'inconclusive',
    reason: expect.stringMatching(/not be in the list yet/),
  })
  expect(await find(undefined)).toMatchObject({ kind: 'inconclusive' })
  clock.now += 2 * MINUTE
  expect(await find('https://us.example/never-sent')).toEqual({ kind: 'absent' })

  // Newest first: what is older than the create need not be read.
  clock.now += 60 * MINUTE
  await accepted(luma, { prompt: 'a newer one' }, 'image')
  const before = simulator.requests().length
  expect(await find('https://us.example/never-sent', clock.now - 10 * MINUTE)).toEqual({ kind: 'absent' })
  expect(simulator.requests().length - before).toBe(1)
})

test.each([
  [{ status: 500 }],
  [{ body: '<html>' }],
  [{ json: { generations: 'none' } }],
  [{ json: { generations: [{ id: 'x', created_at: 'yesterday' }] } }],
])('F8 a list that says %j proves nothing', async (reply) => {
  const server = await startSmallServer(() => reply)
  const luma = createLumaDreamMachine({ apiKey: 'luma-key', baseUrl: server.url, models })
  cleanups.push(
    () => server.close(),
    () => luma.close(),
  )
  const request = { taskId: 't', type: 'image', params: {}, callbackUrl: HOOK, sentAtMs: 0 }
  expect(await luma.find?.(request, never)).toMatchObject({ kind: 'inconclusive' })
})
