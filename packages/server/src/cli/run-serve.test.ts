import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Task } from '@holdfast/shared'
import { afterEach, expect, test } from 'vitest'
import { freePort } from '../../test/free-port.ts'
import { createTestDatabase } from '../../test/test-database.ts'
import { signToken, TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET } from '../../test/test-tokens.ts'
import { startRunwaySimulator } from '../providers/runway/simulator/start-runway-simulator.ts'

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url))
const USER = '0199f000-0000-7000-8000-0000000000a1'
const patiently = { timeout: 30_000 }

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

/** `holdfast serve` in a process of its own, with these settings and no others. */
function serve(env: Record<string, string>) {
  const child = spawn(process.execPath, ['--conditions=holdfast-source', MAIN, 'serve'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '', ...env },
  })
  const ended = once(child, 'exit')
  const said = { text: '' }
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said.text += chunk
    })
  }
  cleanups.push(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return { child, ended, said }
}

test('the provider that has a key does the work, with no other setting than its address', async () => {
  const database = await createTestDatabase()
  const simulator = await startRunwaySimulator({ apiKey: 'runway-key', speed: 100 })
  cleanups.push(
    () => database.drop(),
    () => simulator.close(),
  )
  const port = await freePort()
  const { child, ended, said } = serve({
    DATABASE_URL: database.url,
    JWT_SECRET: TEST_SECRET,
    JWT_ISSUER: TEST_ISSUER,
    JWT_AUDIENCE: TEST_AUDIENCE,
    LOCK: 'none',
    PORT: String(port),
    RUNWAYML_API_SECRET: 'runway-key',
    RUNWAYML_BASE_URL: simulator.url,
    CREDIT_PRICES: 'video=20',
    CREDITS_INITIAL: '100',
  })
  await expect.poll(() => said.text, patiently).toContain('serving')

  const headers = { authorization: `Bearer ${await signToken(USER)}`, 'content-type': 'application/json' }
  // Somebody who watches, so that polls come soon.
  const stream = await fetch(`http://127.0.0.1:${port}/v1/stream`, { headers })
  cleanups.push(async () => stream.body?.cancel().catch(() => undefined))
  const api = `http://127.0.0.1:${port}/v1/tasks`
  const body = JSON.stringify({ type: 'video', params: { prompt: 'a lighthouse', aspect_ratio: '9:16' } })
  const { task } = (await (await fetch(api, { method: 'POST', headers, body })).json()) as { task: Task }
  const read = async () =>
    ((await (await fetch(`${api}/${task.id}`, { headers })).json()) as { task: Task }).task
  await expect.poll(async () => (await read()).status, { timeout: 60_000, interval: 500 }).toBe('completed')
  expect(await read()).toMatchObject({
    provider: 'runway',
    result: { outputs: [{ contentType: 'video/mp4' }] },
  })
  expect(simulator.requests()[0]?.path).toBe('/v1/text_to_video')
  const credits = await fetch(`http://127.0.0.1:${port}/v1/credits`, { headers })
  expect(await credits.json()).toMatchObject({ enabled: true, balance: 80, held: 0, prices: { video: 20 } })

  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect(said.text).not.toContain('runway-key')
}, 120_000)

test.each([
  [{}, /"serve" needs more settings:\n.*KIE_API_KEY, REPLICATE_API_TOKEN, FAL_KEY, RUNWAYML_API_SECRET/],
  [
    { FAL_KEY: 'k', LUMAAI_API_KEY: 'k' },
    /fal, luma-dream-machine could all make images. Say which one does/,
  ],
  [
    { KIE_API_KEY: 'a-key-for-tests', CREDIT_PRICES: 'song=3' },
    /CREDIT_PRICES names song, which nobody here makes; there is image, video/,
  ],
  [{ VIDEO_PROVIDER: 'runway', KIE_API_KEY: 'a-key-for-tests' }, /VIDEO_PROVIDER is "runway", which has no key/],
])('with %j it says what is wrong and stops', async (env, problem) => {
  const { ended, said } = serve({
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    JWT_SECRET: TEST_SECRET,
    LOCK: 'none',
    ...env,
  })
  expect(await ended).toEqual([1, null])
  expect(said.text).toMatch(problem)
})
