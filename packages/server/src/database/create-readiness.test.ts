import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startCuttableProxy } from '../../test/cuttable-proxy.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { startTestPgbouncer } from '../../test/pgbouncer-for-tests.ts'
import { startTestRedis } from '../../test/redis-for-tests.ts'
import { createScriptedProvider } from '../../test/scripted-provider.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { signToken, testAuth } from '../../test/test-tokens.ts'
import { createHoldfast, type Holdfast, type HoldfastConfig } from '../create-holdfast.ts'
import { createRedisLock } from '../locks/redis-lock.ts'
import { migrate, rollback } from './migrate.ts'

const ALL = Number.POSITIVE_INFINITY
let database: TestDatabase
const undo: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  database = await createTestDatabase()
  undo.push(() => database.drop())
})
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

function embed(url: string, config: Partial<HoldfastConfig> = {}): { holdfast: Holdfast; lines: string[] } {
  const provider = createScriptedProvider({})
  const { log, lines } = createMemoryLog()
  const holdfast = createHoldfast({
    database: url,
    auth: testAuth,
    providers: [provider],
    types: scriptedTypes(provider.name),
    log,
    ...config,
    engine: { idleMs: 10, stopWithinMs: 2_000 },
  })
  undo.push(() => holdfast.stop())
  return { holdfast, lines }
}

async function readyz({ app }: Holdfast) {
  const response = await app.request('/readyz')
  return { status: response.status, body: await response.json() }
}

/** One answer of the database serves all who ask within a second, so what has changed is told a moment later. */
const untilReadyz = (holdfast: Holdfast, answer: { status: number; body?: Record<string, unknown> }) =>
  vi.waitFor(async () => expect(await readyz(holdfast)).toMatchObject(answer), { timeout: 10_000 })

const submit = async ({ app }: Holdfast) =>
  app.request('/v1/tasks', {
    method: 'POST',
    headers: { authorization: `Bearer ${await signToken('ada')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'image', params: { prompt: 'a fox' } }),
  })

describe('an embedded server', () => {
  it('is not ready without its schema, says so, does not start, and is ready once it is there', async () => {
    await rollback(database.sql, ALL)
    const { holdfast, lines } = embed(database.url)
    const missing = 'The schema is missing: run `holdfast migrate`.'
    expect(await readyz(holdfast)).toMatchObject({
      status: 503,
      body: { code: 'UNAVAILABLE', detail: missing },
    })
    await expect(holdfast.ready()).rejects.toThrow(missing)
    await expect(holdfast.start()).rejects.toThrow(missing)
    expect((await submit(holdfast)).status).toBe(503)
    expect(lines.join('')).not.toContain('unexpected error')

    await holdfast.migrate()
    await untilReadyz(holdfast, { status: 200, body: { status: 'ready' } })
    await holdfast.start()
    expect((await submit(holdfast)).status).toBe(201)
  })

  it('is not ready with an older schema, nor when that is taken back under it', async () => {
    const { holdfast } = embed(database.url)
    expect(await readyz(holdfast)).toMatchObject({ status: 200 })
    await rollback(database.sql, 1)
    const older = 'The schema is older than this release: run `holdfast migrate`.'
    await untilReadyz(holdfast, { status: 503, body: { detail: older } })
    await expect(holdfast.start()).rejects.toThrow(older)
  })

  it('is ready with the schema of a later release', async () => {
    await database.sql`insert into holdfast.migrations (name) values ('29991231235959_later.sql')`
    expect(await readyz(embed(database.url).holdfast)).toMatchObject({ status: 200 })
  })

  it('takes the Supabase CLI’s word for what that has applied', async () => {
    const { sql } = database
    await sql`create schema supabase_migrations`
    await sql`create table supabase_migrations.schema_migrations (version text primary key, name text)`
    await sql`
      insert into supabase_migrations.schema_migrations
      select split_part(name, '_', 1), name from holdfast.migrations
    `
    await sql`drop table holdfast.migrations`
    const { holdfast } = embed(database.url)
    expect(await readyz(holdfast)).toMatchObject({ status: 200 })
    await sql`delete from supabase_migrations.schema_migrations where version = (select max(version) from supabase_migrations.schema_migrations)`
    await untilReadyz(holdfast, { status: 503 })
    await migrate(sql)
    await untilReadyz(holdfast, { status: 200 })
  })

  it('tells callers nothing of where its database is, and does not start with a wrong login', async () => {
    const nowhere = Object.assign(new URL(database.url), { pathname: 'nowhere' }).href
    const { holdfast } = embed(nowhere)
    const answer = await readyz(holdfast)
    expect(answer).toMatchObject({
      status: 503,
      body: { detail: 'The database cannot be reached right now.' },
    })
    expect(JSON.stringify(answer)).not.toMatch(/nowhere|127\.0\.0\.1/)
    await expect(holdfast.start()).rejects.toThrow(/refuses the login: database "nowhere" does not exist/)
  })

  it('starts when PostgreSQL comes back, and can be stopped before it does', async () => {
    const proxy = await startCuttableProxy(database.url)
    undo.push(() => proxy.close())
    await proxy.cut()
    const { holdfast, lines } = embed(proxy.url)
    const other = embed(proxy.url).holdfast
    const starting = holdfast.start()
    const waiting = other.start()
    expect(await readyz(holdfast)).toMatchObject({ status: 503 })
    await other.stop()
    await waiting
    await proxy.mend()
    await starting
    expect(lines.filter((line) => line.includes('PostgreSQL is out of reach'))).toHaveLength(1)
    expect((await submit(holdfast)).status).toBe(201)
    await vi.waitFor(
      async () =>
        expect(await database.sql`select status from holdfast.tasks`).toMatchObject([{ status: 'running' }]),
      { timeout: 10_000 },
    )
  })

  it('serves callers without its lock, and says that nobody works', async () => {
    const redis = await startTestRedis()
    undo.push(() => redis.stop())
    const lock = createRedisLock({ url: redis.url, ttlMs: 600, retryMs: 20, log: createMemoryLog().log })
    const { holdfast } = embed(database.url, { lock })
    await holdfast.start()
    expect(await readyz(holdfast)).toEqual({ status: 200, body: { status: 'ready' } })
    await redis.kill()
    await vi.waitFor(
      async () =>
        expect(await readyz(holdfast)).toEqual({
          status: 200,
          body: { status: 'ready', work: 'paused: the lock cannot be reached' },
        }),
      { timeout: 10_000 },
    )
    await redis.start()
    await vi.waitFor(async () => expect((await readyz(holdfast)).body).toEqual({ status: 'ready' }), {
      timeout: 10_000,
    })
  })

  it('works behind a pooler in transaction mode that its URL does not give away', async () => {
    const pooler = await startTestPgbouncer({ url: database.url, roundRobin: true, poolSize: 5 })
    undo.push(() => pooler.stop())
    await rollback(database.sql, ALL)
    const { holdfast, lines } = embed(pooler.url)
    await holdfast.migrate()
    await holdfast.start()
    const answers = await Promise.all(Array.from({ length: 40 }, () => submit(holdfast)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    await vi.waitFor(
      async () =>
        expect(await database.sql`select distinct status from holdfast.tasks`).toMatchObject([
          { status: 'running' },
        ]),
      { timeout: 15_000 },
    )
    expect(lines.join('')).not.toMatch(/prepared statement/)
  })
})
