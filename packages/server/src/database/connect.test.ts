import { afterAll, beforeAll, expect, it } from 'vitest'
import { startCuttableProxy } from '../../test/cuttable-proxy.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from './connect.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const MOST = 4

/** All connections at once, each with a question under way. */
async function askOnAll(sql: Sql): Promise<PromiseSettledResult<unknown>[]> {
  const asked = Promise.allSettled(Array.from({ length: MOST }, () => sql`select pg_sleep(20)`.execute()))
  await expect.poll(sleeping, { timeout: 10_000 }).toBe(MOST)
  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'select pg_sleep%'
  `
  return asked
}

async function sleeping(): Promise<number> {
  const [row] = await database.sql<[{ count: number }]>`
    select count(*)::int from pg_stat_activity
    where datname = current_database() and state = 'active' and query like 'select pg_sleep%'
  `
  return row.count
}

it('P5 after a restart of PostgreSQL the first question on every connection is answered', async () => {
  const sql = connect(database.url, { maxConnections: MOST })
  try {
    for (const { status } of await askOnAll(sql)) expect(status).toBe('rejected')
    const answers = await Promise.all(
      Array.from({ length: MOST }, () => sql<{ one: number }[]>`select 1 as one`),
    )
    expect(answers.map(([row]) => row?.one)).toEqual([1, 1, 1, 1])
  } finally {
    await sql.end({ timeout: 1 })
  }
})

it('P5 a question that was being written when the line broke does not spoil the next connection', async () => {
  const proxy = await startCuttableProxy(database.url)
  const sql = connect(proxy.url, { maxConnections: 1 })
  try {
    await sql`select 1`
    const gone = proxy.cut()
    // Written in the very turn in which the close is noticed: the driver still has it in its buffer then.
    const asking = new Set<Promise<unknown>>()
    for (let turn = 0; turn < 50; turn++) {
      asking.add(sql`select 1`.catch(() => null))
      await new Promise((next) => setImmediate(next))
    }
    await gone
    await proxy.mend()
    await Promise.all(asking)
    const [row] = await sql<{ one: number }[]>`select 1 as one`
    expect(row?.one).toBe(1)
  } finally {
    await sql.end({ timeout: 1 })
    await proxy.close()
  }
})

it('leaves nothing open after its end', async () => {
  const sql = connect(database.url, { maxConnections: MOST, applicationName: 'ended' })
  await askOnAll(sql)
  await Promise.all(Array.from({ length: MOST }, () => sql`select 1`))
  await sql.end()
  const open = () =>
    database.sql`select from pg_stat_activity where application_name = 'ended'`.then((rows) => rows.length)
  await expect.poll(open).toBe(0)
  await expect(sql`select 1`).rejects.toMatchObject({ code: 'CONNECTION_ENDED' })
})

it('a statement that the server has forgotten is sent again, arrays and all', async () => {
  const sql = connect(database.url, { maxConnections: 1 })
  const ask = () => sql<{ n: number }[]>`select n from unnest(${[1, 2]}::int[]) n`
  try {
    await ask()
    await sql.unsafe('deallocate all')
    expect((await ask()).map(({ n }) => n)).toEqual([1, 2])
  } finally {
    await sql.end()
  }
})
