import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createMemoryLog } from '../../test/memory-log.ts'
import { startTestPgbouncer } from '../../test/pgbouncer-for-tests.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { readConfig } from '../config.ts'
import { openBus } from './open-bus.ts'

const { log } = createMemoryLog()
const open = (env: NodeJS.ProcessEnv) => openBus(readConfig(env), log)
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

describe('the bus that the settings ask for', () => {
  it('is PostgreSQL’s where nothing else is said, and carries from one to the other', async () => {
    const [one, other] = await Promise.all([0, 1].map(() => open({ DATABASE_URL: database.url })))
    try {
      other?.subscribe('ada', () => {})
      await vi.waitFor(() => expect(one?.isWatched('ada')).toBe(true), { timeout: 10_000 })
    } finally {
      await Promise.all([one?.close(), other?.close()])
    }
  })

  it('is refused behind a pooler in transaction mode, which would hear nothing, unless a direct way is named', async () => {
    const pooler = await startTestPgbouncer({ url: database.url, mode: 'transaction' })
    try {
      await expect(open({ DATABASE_URL: pooler.url })).rejects.toThrow(
        /transaction mode.*DIRECT_URL.*BUS=redis/,
      )
      const direct = await open({ DATABASE_URL: pooler.url, DIRECT_URL: database.url })
      await direct.close()
    } finally {
      await pooler.stop()
    }
  })

  it('says what is missing', async () => {
    await expect(open({ BUS: 'redis' })).rejects.toThrow('BUS=redis needs REDIS_URL')
    await expect(open({ BUS: 'postgres' })).rejects.toThrow('BUS=postgres needs DATABASE_URL')
    await (await open({ BUS: 'memory' })).close()
  })
})
