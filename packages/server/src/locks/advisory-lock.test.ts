import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { describeLock, waitInVain } from '../../test/lock-conformance.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { startTestPgbouncer } from '../../test/pgbouncer-for-tests.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { type AdvisoryLockOptions, createAdvisoryLock } from './advisory-lock.ts'
import type { Lock } from './lock.ts'

const { signal: never } = new AbortController()

async function endSessions({ sql }: TestDatabase): Promise<void> {
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'holdfast lock' and datname = current_database()
  `
}

describeLock('advisory lock', async () => {
  const database = await createTestDatabase()
  return {
    kind: 'advisory',
    url: database.url,
    create: (options) => createAdvisoryLock({ ...options, log: createMemoryLog().log }),
    forget: () => endSessions(database),
    freeAfterDeathMs: () => 1_000,
    stop: () => database.drop(),
  }
})

describe('an advisory lock', () => {
  let database: TestDatabase
  const locks: Lock[] = []

  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterEach(() => Promise.all(locks.splice(0).map((lock) => lock.close())))
  afterAll(() => database.drop())

  function create(options: Partial<AdvisoryLockOptions> = {}): Lock {
    const lock = createAdvisoryLock({
      url: database.url,
      ttlMs: 1_200,
      retryMs: 25,
      log: createMemoryLog().log,
      ...options,
    })
    locks.push(lock)
    return lock
  }

  async function beatOf(name: string) {
    const [row] = await database.sql<{ pid: number; holder: string; beat_at: Date }[]>`
      select pid, holder, beat_at from holdfast.lock_beats where name = ${name}
    `
    return row
  }

  it('beats a row while held and removes it on release', async () => {
    const held = await create({ holder: 'me' }).acquire('beating', never)
    const first = await beatOf('beating')
    expect(first?.holder).toBe('me')
    await expect.poll(async () => (await beatOf('beating'))?.beat_at).not.toEqual(first?.beat_at)
    await held.release()
    expect(await beatOf('beating')).toBeUndefined()
  })

  it('writes a beat anew that somebody has removed', async () => {
    const held = await create({ ttlMs: 600 }).acquire('removed', never)
    await database.sql`delete from holdfast.lock_beats where name = 'removed'`
    await expect.poll(() => beatOf('removed')).toBeDefined()
    expect(held.lost.aborted).toBe(false)
  })

  it('is lost when the beat names another session, whose row it leaves alone', async () => {
    const held = await create({ ttlMs: 600 }).acquire('renamed', never)
    await database.sql`update holdfast.lock_beats set pid = 1 where name = 'renamed'`
    await expect.poll(() => held.lost.aborted).toBe(true)
    await held.release()
    expect((await beatOf('renamed'))?.pid).toBe(1)
    await create().acquire('renamed', never)
  })

  it('is lost before its TTL is over when PostgreSQL says nothing any more', async () => {
    const ttlMs = 1_200
    const lock = create({ ttlMs })
    const held = await lock.acquire('hung', never)
    const backend = (await beatOf('hung'))?.pid ?? 0
    process.kill(backend, 'SIGSTOP')
    const began = performance.now()
    try {
      await expect.poll(() => held.lost.aborted, { interval: 5, timeout: 5_000 }).toBe(true)
      expect(performance.now() - began).toBeLessThan(ttlMs)
    } finally {
      process.kill(backend, 'SIGCONT')
    }
    await held.release()
    await lock.acquire('hung', never)
  })

  it('never ends a session that does not hold the lock, however old the beat', async () => {
    const [first, second] = [create(), create()]
    const held = await first.acquire('bystander', never)
    const bystander = await beatOf('bystander')
    await database.sql`
      insert into holdfast.lock_beats (name, pid, backend_start, holder, ttl_ms, beat_at)
      select 'contested', pid, backend_start, 'bystander', 1, now() - interval '1 hour'
      from pg_stat_activity where pid = ${bystander?.pid ?? 0}
    `
    // Held by a session without a beat of its own, so that the challenger has reason to look again and again.
    const stranger = await database.sql.reserve()
    await stranger`select pg_advisory_lock(${0x6c_6f_63_6b}::int, hashtext('contested'))`
    try {
      await waitInVain(second, 'contested', 400)
    } finally {
      await stranger`select pg_advisory_unlock_all()`
      stranger.release()
    }
    await second.acquire('contested', never)
    expect(held.lost.aborted).toBe(false)
  })

  it('is judged by the TTL of its holder, not by that of who waits', async () => {
    const held = await create({ ttlMs: 3_000 }).acquire('slow', never)
    await waitInVain(create({ ttlMs: 300 }), 'slow', 1_500)
    expect(held.lost.aborted).toBe(false)
  })

  it('survives the end of all sessions: lost at once, had again, one line in the log for each (P5)', async () => {
    const { log, lines } = createMemoryLog()
    const said = (text: string) => lines.filter((line) => line.includes(text)).length
    const lock = create({ log, ttlMs: 60_000 })
    const held = await lock.acquire('ended', never)
    await endSessions(database)
    await expect.poll(() => held.lost.aborted, { timeout: 1_000 }).toBe(true)
    expect((await lock.acquire('ended', never)).lost.aborted).toBe(false)
    expect(said('lost a lock')).toBe(1)
  })

  it('says so once when the schema is missing, and goes on trying', async () => {
    const { log, lines } = createMemoryLog()
    const url = new URL(database.url)
    url.pathname = 'postgres'
    await waitInVain(create({ url: url.href, log }), 'nowhere', 2_000)
    expect(lines.filter((line) => line.includes('lock_beats'))).toHaveLength(1)
    expect(lines).toHaveLength(1)
  })

  it('says nothing in the log while all is well, and leaves no session behind', async () => {
    const { log, lines } = createMemoryLog()
    const lock = create({ log })
    await (await lock.acquire('quiet', never)).release()
    await lock.acquire('quiet', never)
    await lock.close()
    expect(lines).toEqual([])
    const left = await database.sql`
      select from pg_stat_activity where application_name = 'holdfast lock' and datname = current_database()
    `
    expect(left).toHaveLength(0)
  })

  it('works through a pooler in session mode', async () => {
    const pooler = await startTestPgbouncer({ url: database.url, mode: 'session' })
    try {
      const [first, second] = [create({ url: pooler.url }), create({ url: pooler.url })]
      const held = await first.acquire('pooled', never)
      await waitInVain(second, 'pooled', 300)
      const next = second.acquire('pooled', never)
      await held.release()
      expect((await next).lost.aborted).toBe(false)
      await Promise.all([first.close(), second.close()])
    } finally {
      await pooler.stop()
    }
  })
})
