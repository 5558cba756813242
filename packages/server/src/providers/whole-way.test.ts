import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Credits, Task } from '@holdfast/shared'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { openProviders } from '../cli/open-providers.ts'
import { SIMULATORS } from '../cli/simulators.ts'
import { createLog } from '../log.ts'
import { readProviderSettings, type VendorName } from '../provider-settings.ts'
import { createFal } from './fal/fal.ts'
import type { Simulator } from './simulation/simulator.ts'

const KEY = 'a-key-for-tests-0123456789'

/** How each is told its key and its address, and what becomes of a create whose reply was lost. */
const VENDORS: Record<
  VendorName,
  { env: (url: string) => Record<string, string>; lost: 'found' | 'unknown' }
> = {
  kie: { env: (url) => ({ KIE_API_KEY: KEY, KIE_BASE_URL: url }), lost: 'found' },
  replicate: { env: (url) => ({ REPLICATE_API_TOKEN: KEY, REPLICATE_BASE_URL: url }), lost: 'found' },
  fal: { env: (url) => ({ FAL_KEY: KEY, FAL_BASE_URL: url }), lost: 'found' },
  runway: { env: (url) => ({ RUNWAYML_API_SECRET: KEY, RUNWAYML_BASE_URL: url }), lost: 'unknown' },
  'luma-agents': { env: (url) => ({ LUMA_AGENTS_API_KEY: KEY, LUMA_AGENTS_BASE_URL: url }), lost: 'unknown' },
  'luma-dream-machine': { env: (url) => ({ LUMAAI_API_KEY: KEY, LUMAAI_BASE_URL: url }), lost: 'found' },
  'openai-videos': {
    env: (url) => ({ OPENAI_VIDEOS_API_KEY: KEY, OPENAI_VIDEOS_BASE_URL: url }),
    lost: 'unknown',
  },
}
const INITIAL = 100
const PRICE = 7

interface World {
  test: TestHoldfast
  simulator: Simulator
  front: Server
}
const worlds: World[] = []
async function close({ test, simulator, front }: World): Promise<void> {
  await test.stop()
  await simulator.close()
  front.closeAllConnections()
  await new Promise((resolve) => front.close(resolve))
}
afterEach(() => Promise.all(worlds.splice(0).map(close)))
afterAll(() => vi.restoreAllMocks())

/** A whole server whose only provider is that vendor's simulator, and which the simulator can call back. */
async function startWorld(name: VendorName): Promise<World> {
  let answer: RequestListener = (_, response) => response.end()
  const front = createServer((request, response) => answer(request, response))
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  const simulator = await SIMULATORS[name].start({ speed: 40, webhookRetryMs: 100 })
  const settings = readProviderSettings(VENDORS[name].env(`${simulator.url}${SIMULATORS[name].basePath}`))
  const { providers, types } = openProviders(settings, { log: createLog('silent') })
  if (name === 'fal') {
    // Where its webhooks' keys are is no setting: they are always at fal's own address.
    const keysUrl = `${simulator.url}/.well-known/jwks.json`
    await Promise.all(providers.map((provider) => provider.close()))
    const models = settings.vendors.fal.models as Record<string, string>
    providers.splice(0, 1, createFal({ apiKey: KEY, baseUrl: simulator.url, models, keysUrl }))
  }
  const test = await startTestHoldfast({
    engineRuns: true,
    providers,
    types: Object.fromEntries(
      Object.entries(types).map(([type, rest]) => [type, { ...rest, credits: PRICE }]),
    ),
    credits: { initial: INITIAL },
    publicUrl: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
  })
  answer = test.holdfast.listener
  const world = { test, simulator, front }
  worlds.push(world)
  return world
}

async function submit({ test }: World, prompt: string): Promise<string> {
  const { body, status } = await test.as('ada')<{ task: Task }>('POST', '/v1/tasks', {
    json: { type: 'video', params: { prompt } },
  })
  expect(status).toBe(201)
  return body.task.id
}
const get = async ({ test }: World, id: string) =>
  (await test.as('ada')<{ task: Task }>('GET', `/v1/tasks/${id}`)).body.task
const balance = async ({ test }: World) => (await test.as('ada')<Credits>('GET', '/v1/credits')).body.balance

describe.each(Object.keys(VENDORS) as VendorName[])('%s, through a whole server', (name) => {
  it('makes a video, and is paid for once', async () => {
    const world = await startWorld(name)
    const id = await submit(world, 'a fox')
    await vi.waitFor(
      async () => {
        // Nobody waits for a planned poll here; a webhook may be faster all the same.
        await world.test
          .sql`update holdfast.work set due_at = now() where task_id = ${id} and kind = 'poll' and due_at > now()`
        expect(await get(world, id)).toMatchObject({ status: 'completed', result: { outputs: [{}] } })
      },
      { timeout: 30_000, interval: 250 },
    )
    expect(world.simulator.creates()).toBe(1)
    expect(await balance(world)).toBe(INITIAL - PRICE)
  }, 60_000)

  it('a create whose reply is lost: one create, and it ends right, or unknown with the credits back (F8)', async () => {
    const world = await startWorld(name)
    world.simulator.script('lost')
    const id = await submit(world, 'a fox')
    await vi.waitFor(() => expect(world.simulator.creates()).toBe(1), { timeout: 30_000 })
    if (VENDORS[name].lost === 'found') {
      await vi.waitFor(
        async () => {
          await world.test
            .sql`update holdfast.work set due_at = now() where task_id = ${id} and due_at > now()`
          expect((await get(world, id)).status).toBe('completed')
        },
        { timeout: 30_000, interval: 250 },
      )
      expect(await balance(world)).toBe(INITIAL - PRICE)
    } else {
      await vi.waitFor(
        async () => {
          await world.test
            .sql`update holdfast.provider_jobs set sending_at = sending_at - interval '2 min' where task_id = ${id} and external_id is null`
          await world.test
            .sql`update holdfast.work set due_at = now() where task_id = ${id} and due_at > now()`
          expect(await get(world, id)).toMatchObject({
            status: 'failed',
            failure: { code: 'SUBMIT_UNKNOWN' },
          })
        },
        { timeout: 30_000, interval: 250 },
      )
      expect(await balance(world)).toBe(INITIAL)
    }
    expect(world.simulator.creates()).toBe(1)
  }, 60_000)
})

it('a task done by webhook is settled by the poll that it makes due; without webhooks, polling finishes it', async () => {
  const world = await startWorld('replicate')
  const id = await submit(world, 'a fox')
  // Its planned poll is half a minute away: only the webhook can be this fast.
  await vi.waitFor(async () => expect((await get(world, id)).status).toBe('completed'), { timeout: 15_000 })

  const silent = await submit(world, 'a fox [hook-none]')
  await vi.waitFor(
    async () => {
      await world.test
        .sql`update holdfast.work set due_at = now() where task_id = ${silent} and kind = 'poll' and due_at > now()`
      expect((await get(world, silent)).status).toBe('completed')
    },
    { timeout: 30_000, interval: 250 },
  )
}, 60_000)
