import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Task } from '@holdfast/shared'
import { afterEach, describe, expect, test } from 'vitest'
import { startCuttableProxy } from '../../test/cuttable-proxy.ts'
import { freePort } from '../../test/free-port.ts'
import { startTestPgbouncer } from '../../test/pgbouncer-for-tests.ts'
import { startSupabaseStorageDouble } from '../../test/supabase-storage-double.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { signToken, TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET } from '../../test/test-tokens.ts'
import { rollback } from '../database/migrate.ts'
import { readSchemaState } from '../database/schema-state.ts'
import { startRunwaySimulator } from '../providers/runway/simulator/start-runway-simulator.ts'

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url))
const USER = '0199f000-0000-7000-8000-0000000000a1'
const patiently = { timeout: 30_000 }

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

/** `holdfast serve`, or another command, in a process of its own, with these settings and no others. */
function serve(env: Record<string, string>, args: string[] = ['serve']) {
  const child = spawn(process.execPath, ['--conditions=holdfast-source', MAIN, ...args], {
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
    ROUTE_BY_PLAN: 'gold=enterprise_exclusive',
  })
  await expect.poll(() => said.text, patiently).toContain('serving')

  const token = await signToken(USER, { app_metadata: { plan: 'gold' } })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
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
  expect(await database.sql`select lane from holdfast.tasks`).toEqual([{ lane: 'enterprise_exclusive' }])
  const credits = await fetch(`http://127.0.0.1:${port}/v1/credits`, { headers })
  expect(await credits.json()).toMatchObject({ enabled: true, balance: 80, held: 0, prices: { video: 20 } })

  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect(said.text).not.toContain('runway-key')
}, 120_000)

test('says once what runs, once that PostgreSQL is out of reach, and once that it is back', async () => {
  const database = await createTestDatabase()
  const proxy = await startCuttableProxy(database.url)
  cleanups.push(
    () => database.drop(),
    () => proxy.close(),
  )
  const port = await freePort()
  const { child, ended, said } = serve({
    DATABASE_URL: proxy.url,
    JWT_SECRET: TEST_SECRET,
    JWT_ISSUER: TEST_ISSUER,
    JWT_AUDIENCE: TEST_AUDIENCE,
    KIE_API_KEY: 'a-key-of-kie',
    PORT: String(port),
    LOG_LEVEL: 'debug',
  })
  const entries = () =>
    said.text.split('\n').flatMap((line): { level: number; msg: string }[] => {
      try {
        return [JSON.parse(line)]
      } catch {
        return []
      }
    })
  const loud = () => entries().filter(({ level }) => level >= 40)
  const failures = () => entries().filter(({ msg }) => msg.includes('failed; trying again'))
  await expect.poll(() => said.text, patiently).toContain('"serving"')
  expect(entries().find(({ msg }) => msg === 'serving')).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+/),
    types: { image: 'kie', video: 'kie' },
    lock: 'advisory',
    bus: 'postgres',
    progress: 'memory',
    results: 'filesystem',
    lanes: 'all',
    credits: 'off',
  })

  await proxy.cut()
  await expect.poll(() => failures().length, patiently).toBeGreaterThan(5)
  const answer = await fetch(`http://127.0.0.1:${port}/v1/tasks`, {
    headers: { authorization: `Bearer ${await signToken(USER)}` },
  })
  expect(answer.status).toBe(503)
  await proxy.mend()
  await expect.poll(() => said.text, patiently).toContain('PostgreSQL is back')
  const told = loud().map(({ msg }) => msg)
  expect(told.filter((msg) => msg !== 'lost a lock')).toEqual([
    'PostgreSQL is out of reach; trying again until it is back',
    'PostgreSQL is back',
  ])
  expect(said.text).not.toContain('"stack"')
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
}, 120_000)

test.each([
  ['the anon key', 'anonKey', {}, /no bucket "results".*SUPABASE_SERVICE_KEY must be its service/],
  ['a public bucket', 'serviceKey', { public: true }, /The bucket "results" is public/],
] as const)('with %s at Supabase it does not start', async (_, key, settings, problem) => {
  const storage = await startSupabaseStorageDouble()
  cleanups.push(() => storage.close())
  storage.setBucket(settings)
  const { ended, said } = serve({
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    JWT_SECRET: TEST_SECRET,
    KIE_API_KEY: 'a-key-of-kie',
    LOCK: 'none',
    BUS: 'memory',
    SUPABASE_URL: storage.url,
    SUPABASE_BUCKET: storage.bucket,
    SUPABASE_SERVICE_KEY: storage[key],
  })
  expect(await ended).toEqual([1, null])
  expect(said.text).toMatch(problem)
  expect(said.text).not.toContain(storage[key])
})

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
  [
    { KIE_API_KEY: 'a-key-of-kie', CREDITS_INITIAL: '50' },
    /CREDITS_INITIAL buys nothing.*CREDIT_PRICES as well/,
  ],
  [
    { VIDEO_PROVIDER: 'runway', KIE_API_KEY: 'a-key-for-tests' },
    /VIDEO_PROVIDER is "runway", which has no key/,
  ],
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

describe('a database that is not as it should be', () => {
  const settings = { JWT_SECRET: TEST_SECRET, KIE_API_KEY: 'a-key-of-kie', PORT: '0' }
  const cases: [string, LOCK: string, (database: TestDatabase) => Promise<string>, RegExp][] = [
    [
      'an empty one',
      'advisory',
      async ({ sql, url }) => {
        await rollback(sql, Number.POSITIVE_INFINITY)
        return url
      },
      /^holdfast: The schema is missing: run `holdfast migrate`\.\n$/,
    ],
    [
      'one of an earlier release',
      'none',
      async ({ sql, url }) => {
        await rollback(sql, 1)
        return url
      },
      /^holdfast: The schema is older than this release: run `holdfast migrate`\.\n$/,
    ],
    [
      'none at all',
      'advisory',
      async ({ url }) => Object.assign(new URL(url), { pathname: 'nowhere' }).href,
      /^holdfast: PostgreSQL at 127.0.0.1:\d+ refuses the login: database "nowhere" does not exist\.\n$/,
    ],
    [
      'a role that there is not',
      'none',
      async ({ url }) => Object.assign(new URL(url), { username: 'nobody', password: 'hidden' }).href,
      /^holdfast: PostgreSQL at 127.0.0.1:\d+ refuses the login: .*"nobody".*\.\n$/,
    ],
    [
      'a server that does not run',
      'none',
      async () => 'postgres://u:hidden@127.0.0.1:1/app',
      /^holdfast: PostgreSQL cannot be reached at 127.0.0.1:1: .+\.\n$/,
    ],
  ]

  test.each(cases)(
    '%s (LOCK=%s): it says so in one line, and stops',
    async (_name, LOCK, prepare, problem) => {
      const database = await createTestDatabase()
      cleanups.push(() => database.drop())
      const { ended, said } = serve({
        ...settings,
        LOCK,
        BUS: 'memory',
        DATABASE_URL: await prepare(database),
      })
      expect(await ended).toEqual([1, null])
      expect(said.text).toMatch(problem)
      expect(said.text).not.toMatch(/serving|hidden/)
    },
  )

  test('with --migrate it brings the schema along', async () => {
    const database = await createTestDatabase()
    cleanups.push(() => database.drop())
    await rollback(database.sql, Number.POSITIVE_INFINITY)
    const env = { ...settings, DATABASE_URL: database.url }
    const { child, ended, said } = serve(env, ['serve', '--migrate'])
    await expect.poll(() => said.text, patiently).toContain('serving')
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })
})

describe('behind a pooler in transaction mode', () => {
  test('two replicas with a direct way beside it: one works, and when it is killed the other goes on', async () => {
    const database = await createTestDatabase()
    const pooler = await startTestPgbouncer({ url: database.url, roundRobin: true })
    const simulator = await startRunwaySimulator({ apiKey: 'runway-key', speed: 100 })
    cleanups.push(
      () => database.drop(),
      () => pooler.stop(),
      () => simulator.close(),
    )
    const env = {
      DATABASE_URL: pooler.url,
      DIRECT_URL: database.url,
      JWT_SECRET: TEST_SECRET,
      JWT_ISSUER: TEST_ISSUER,
      JWT_AUDIENCE: TEST_AUDIENCE,
      RUNWAYML_API_SECRET: 'runway-key',
      RUNWAYML_BASE_URL: simulator.url,
    }
    const ports = [await freePort(), await freePort()]
    const replicas = ports.map((port) => ({ port, ...serve({ ...env, PORT: String(port) }) }))
    for (const { said } of replicas) await expect.poll(() => said.text, patiently).toContain('serving')
    const holder = async () => {
      const [beat] = await database.sql<{ holder: string }[]>`
        select holder from holdfast.lock_beats where name = 'provider:runway'
      `
      return Number(beat?.holder.split(':').at(-1))
    }
    await expect.poll(holder, patiently).toBeGreaterThan(0)

    const headers = { authorization: `Bearer ${await signToken(USER)}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ type: 'video', params: { prompt: 'a lighthouse', aspect_ratio: '9:16' } })
    const statusAt = async (port: number, id: string) =>
      ((await (await fetch(`http://127.0.0.1:${port}/v1/tasks/${id}`, { headers })).json()) as { task: Task })
        .task.status
    // Submitted where nobody works, so the bus has to carry it; watched there, so polls come soon.
    async function runsToItsEnd(port: number): Promise<void> {
      const stream = await fetch(`http://127.0.0.1:${port}/v1/stream`, { headers })
      const created = await fetch(`http://127.0.0.1:${port}/v1/tasks`, { method: 'POST', headers, body })
      const { task } = (await created.json()) as { task: Task }
      await expect.poll(() => statusAt(port, task.id), { timeout: 60_000, interval: 250 }).toBe('completed')
      await stream.body?.cancel()
    }
    const working = await holder()
    const [first, second] = replicas.toSorted(
      (one, other) => Number(other.child.pid === working) - Number(one.child.pid === working),
    )
    if (!first || !second) throw new Error('There are two replicas.')
    await runsToItsEnd(second.port)
    first.child.kill('SIGKILL')
    await runsToItsEnd(second.port)
    expect(await holder()).toBe(second.child.pid)
    expect(second.said.text).not.toContain('prepared statement')
  }, 120_000)

  test('without a direct way it says which to set', async () => {
    const database = await createTestDatabase()
    const pooler = await startTestPgbouncer({ url: database.url })
    cleanups.push(
      () => database.drop(),
      () => pooler.stop(),
    )
    const env = { DATABASE_URL: pooler.url, JWT_SECRET: TEST_SECRET, KIE_API_KEY: 'a-key-of-kie', PORT: '0' }
    const { ended, said } = serve(env)
    expect(await ended).toEqual([1, null])
    expect(said.text).toMatch(/^holdfast: .*transaction mode.*Set DIRECT_URL to a direct connection/)
  })

  test('the name that the setting had is refused, and the new one told', async () => {
    const { ended, said } = serve({ LOCK_DATABASE_URL: 'postgres://u:hidden@db/app' })
    expect(await ended).toEqual([1, null])
    expect(said.text).toBe('holdfast: LOCK_DATABASE_URL is called DIRECT_URL now: set that instead.\n')
  })

  test('the schema is made, also through the pooler alone', async () => {
    const database = await createTestDatabase()
    const pooler = await startTestPgbouncer({ url: database.url, roundRobin: true })
    cleanups.push(
      () => database.drop(),
      () => pooler.stop(),
    )
    await rollback(database.sql, Number.POSITIVE_INFINITY)
    const { ended, said } = serve({ DATABASE_URL: pooler.url }, ['migrate'])
    expect(await ended, said.text).toEqual([0, null])
    expect(await readSchemaState(database.sql)).toBe('current')
  })
})
