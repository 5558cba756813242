import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMemoryLog } from '../../test/memory-log.ts'
import { startTestPgbouncer } from '../../test/pgbouncer-for-tests.ts'
import { startTestRedis, type TestRedis } from '../../test/redis-for-tests.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { readConfig } from '../config.ts'
import { openLock } from './open-lock.ts'

const { log } = createMemoryLog()
const { signal: never } = new AbortController()
let database: TestDatabase
let redis: TestRedis
beforeAll(async () => {
  ;[database, redis] = await Promise.all([createTestDatabase(), startTestRedis()])
})
afterAll(() => Promise.all([database.drop(), redis.stop()]))

/** Takes the lock and looks whether PostgreSQL knows of it. */
async function isAdvisory(env: NodeJS.ProcessEnv, name: string): Promise<boolean> {
  const lock = await openLock(readConfig(env), log)
  try {
    await lock.acquire(name, never)
    return (await database.sql`select from holdfast.lock_beats where name = ${name}`).length === 1
  } finally {
    await lock.close()
  }
}

describe('the lock that the settings ask for', () => {
  it('is PostgreSQL’s, also where there is a Redis, which may then be away', async () => {
    expect(await isAdvisory({ DATABASE_URL: database.url }, 'plain')).toBe(true)
    const REDIS_URL = 'redis://127.0.0.1:1'
    expect(await isAdvisory({ DATABASE_URL: database.url, REDIS_URL }, 'beside Redis')).toBe(true)
  })

  it('is Redis’ or none where that is said', async () => {
    const env = { DATABASE_URL: database.url, REDIS_URL: redis.url }
    expect(await isAdvisory({ ...env, LOCK: 'redis' }, 'in Redis')).toBe(false)
    expect(await isAdvisory({ ...env, LOCK: 'none' }, 'none')).toBe(false)
  })

  it('is refused behind a pooler in transaction mode, unless a direct way is named', async () => {
    const pooler = await startTestPgbouncer({ url: database.url, mode: 'transaction' })
    try {
      await expect(isAdvisory({ DATABASE_URL: pooler.url }, 'pooled')).rejects.toThrow(
        /transaction mode.*Set DIRECT_URL.*LOCK=none/,
      )
      const direct = { DATABASE_URL: pooler.url, DIRECT_URL: database.url }
      expect(await isAdvisory(direct, 'direct')).toBe(true)
      const indirect = { DATABASE_URL: pooler.url, DIRECT_URL: pooler.url }
      await expect(isAdvisory(indirect, 'indirect')).rejects.toThrow(/transaction mode.*Set DIRECT_URL/)
    } finally {
      await pooler.stop()
    }
  })

  it('says what is missing', async () => {
    await expect(isAdvisory({ LOCK: 'redis' }, 'x')).rejects.toThrow('LOCK=redis needs REDIS_URL')
    await expect(isAdvisory({}, 'x')).rejects.toThrow('LOCK=advisory needs DATABASE_URL')
  })
})
