import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestPgbouncer, type TestPgbouncerOptions } from '../../test/pgbouncer-for-tests.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { assertSessionPooling } from './assert-session-pooling.ts'

describe('the check for a pooler', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  async function through<T>(
    options: Omit<TestPgbouncerOptions, 'url'>,
    work: (url: string) => Promise<T>,
  ): Promise<T> {
    const pooler = await startTestPgbouncer({ url: database.url, ...options })
    try {
      return await work(pooler.url)
    } finally {
      await pooler.stop()
    }
  }

  /** Opens sessions behind the pooler that then lie idle in its pool. */
  async function warm(url: string, sessions: number): Promise<void> {
    const sql = postgres(url, { max: sessions, prepare: false, fetch_types: false })
    await Promise.all(Array.from({ length: sessions }, () => sql`select pg_sleep(0.05)`))
    await sql.end()
  }

  it('accepts a direct connection, 20 times in a row', async () => {
    for (let time = 0; time < 20; time++) await assertSessionPooling(database.url)
  })

  it('accepts a pooler in session mode', async () => {
    await through({ mode: 'session' }, async (url) => {
      for (let time = 0; time < 20; time++) await assertSessionPooling(url)
    })
  })

  for (const roundRobin of [false, true]) {
    for (const poolSize of [1, 2, 3, 20]) {
      it(`refuses a pooler in transaction mode, 20 times in a row (pool of ${poolSize}${roundRobin ? ', round robin' : ''})`, async () => {
        await through({ poolSize, roundRobin }, async (url) => {
          for (let time = 0; time < 20; time++) {
            await expect(assertSessionPooling(url)).rejects.toThrow(
              /transaction mode.*DIRECT_URL.*5432 instead of 6543.*LOCK=redis.*LOCK=none/,
            )
            // The first time the pool is empty, then it has ever more sessions lying idle.
            await warm(url, Math.min(poolSize, time + 1))
          }
        })
      })
    }
  }

  it('refuses it also while others use the pool', async () => {
    await through({ poolSize: 5 }, async (url) => {
      const others = postgres(url, { max: 8, prepare: false, fetch_types: false })
      let busy = true
      const traffic = Array.from({ length: 8 }, async () => {
        while (busy) await others`select pg_sleep(${Math.random() / 500})`
      })
      for (let time = 0; time < 20; time++) {
        await expect(assertSessionPooling(url)).rejects.toThrow('transaction mode')
      }
      busy = false
      await Promise.all(traffic)
      await others.end()
    })
  })

  it('says what is wrong when there is no database', async () => {
    const nowhere = new URL(database.url)
    nowhere.pathname = 'nowhere'
    await expect(assertSessionPooling(nowhere.href)).rejects.toThrow('"nowhere" does not exist')
  })

  it('leaves no session behind', async () => {
    await assertSessionPooling(database.url)
    const left = await database.sql`
      select from pg_stat_activity where application_name = 'holdfast pooling check'
    `
    expect(left).toHaveLength(0)
  })
})
