import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startCuttableProxy } from '../../test/cuttable-proxy.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect } from './connect.ts'
import { transaction } from './transaction.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql`create table public.pair (id int primary key, n int not null default 0)`
  await database.sql`insert into public.pair values (1), (2)`
})
afterAll(() => database.drop())

describe('transaction', () => {
  it('tries again when PostgreSQL chose it as the victim of a deadlock', async () => {
    const { sql } = database
    await sql`alter database ${sql(new URL(database.url).pathname.slice(1))} set deadlock_timeout = '10ms'`
    let begun = 0
    let bothHoldOne = () => {}
    const meeting = new Promise<void>((resolve) => {
      bothHoldOne = resolve
    })
    let runs = 0
    const cross = (first: number, second: number) =>
      transaction(sql, async (tx) => {
        runs += 1
        await tx`update public.pair set n = n + 1 where id = ${first}`
        begun += 1
        if (begun === 2) bothHoldOne()
        await meeting
        await tx`update public.pair set n = n + 1 where id = ${second}`
      })
    await Promise.all([cross(1, 2), cross(2, 1)])
    // Mostly three: on a busy machine each may be the other's victim in turn.
    expect(runs).toBeGreaterThanOrEqual(3)
    expect(await sql`select n from public.pair order by id`).toMatchObject([{ n: 2 }, { n: 2 }])
  })

  it('does not try again what failed for another reason', async () => {
    let runs = 0
    await expect(
      transaction(database.sql, async (tx) => {
        runs += 1
        await tx`select 1 / 0`
      }),
    ).rejects.toMatchObject({ code: '22012' })
    expect(runs).toBe(1)
  })

  it('gives up in the end', async () => {
    let runs = 0
    await expect(
      transaction(database.sql, async () => {
        runs += 1
        throw Object.assign(new Error('deadlock'), { code: '40P01' })
      }),
    ).rejects.toThrow('deadlock')
    expect(runs).toBe(5)
  })

  it('throws what only looks like a lost connection, say of another server, and goes on with its own', async () => {
    const elsewhere = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    const doomed = transaction(database.sql, async (tx) => {
      await tx`update public.pair set n = 77 where id = 1`
      throw elsewhere
    })
    await expect(doomed).rejects.toBe(elsewhere)
    expect(await database.sql`select from public.pair where n = 77`).toHaveLength(0)
  })

  it('tells its steps when it is over', async () => {
    const signals: AbortSignal[] = []
    await transaction(database.sql, async (tx, over) => {
      signals.push(over)
      await tx`select 1`
      expect(over.aborted).toBe(false)
    })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  describe('says what was committed', () => {
    const told: string[] = []
    beforeEach(() => {
      told.length = 0
    })
    const n = async (id: number) => {
      const [row] = await database.sql<{ n: number }[]>`select n from public.pair where id = ${id}`
      return row?.n
    }

    it('after the commit, before its caller goes on, in the order in which it was asked for', async () => {
      const seen: Promise<number | undefined>[] = []
      const result = await transaction(database.sql, async (tx) => {
        tx.afterCommit(() => {
          told.push('first')
          seen.push(n(1))
        })
        await tx`update public.pair set n = 100 where id = 1`
        tx.afterCommit(() => void told.push('second'))
        expect(told).toEqual([])
        return 'done'
      })
      expect(told).toEqual(['first', 'second'])
      expect(result).toBe('done')
      expect(await Promise.all(seen)).toEqual([100])
    })

    it('not when its steps throw, nor when the commit fails', async () => {
      const { sql } = database
      await sql`create table public.late (id int, constraint one unique (id) deferrable initially deferred)`
      const thrown = transaction(sql, async (tx) => {
        tx.afterCommit(() => void told.push('thrown'))
        await tx`select 1 / 0`
      })
      await expect(thrown).rejects.toMatchObject({ code: '22012' })
      const refused = transaction(sql, async (tx) => {
        tx.afterCommit(() => void told.push('refused'))
        await tx`insert into public.late values (1), (1)`
      })
      await expect(refused).rejects.toMatchObject({ code: '23505' })
      expect(told).toEqual([])
    })

    it('once, by the attempt that was committed: what was rolled back after a deadlock is forgotten', async () => {
      let runs = 0
      await transaction(database.sql, async (tx) => {
        runs += 1
        const run = runs
        tx.afterCommit(() => void told.push(`run ${run}`))
        if (run < 3) throw Object.assign(new Error('deadlock'), { code: '40P01' })
      })
      expect(told).toEqual(['run 3'])
    })

    it('to all, although one of them throws, which changes nothing about the result', async () => {
      const warned: unknown[] = []
      const onWarning = (warning: unknown) => warned.push(warning)
      process.on('warning', onWarning)
      const broken = new Error('the notice is broken')
      const result = await transaction(database.sql, async (tx) => {
        await tx`update public.pair set n = 200 where id = 1`
        tx.afterCommit(() => {
          throw broken
        })
        tx.afterCommit(() => void told.push('the next one'))
        return 'committed'
      })
      expect(result).toBe('committed')
      expect(told).toEqual(['the next one'])
      expect(await n(1)).toBe(200)
      await expect.poll(() => warned).toEqual([broken])
      process.off('warning', onWarning)
    })
  })

  it.each(['cut off', 'ended by PostgreSQL'])(
    'P5 is rejected, and nothing else happens, when its connection is %s',
    async (how) => {
      const proxy = await startCuttableProxy(database.url)
      const sql = connect(proxy.url)
      const crashes: unknown[] = []
      const onCrash = (error: unknown) => crashes.push(error)
      process.on('uncaughtException', onCrash)
      try {
        const doomed = transaction(sql, async (tx) => {
          const [row] = await tx<[{ pid: number }]>`select pg_backend_pid() as pid`
          const cutOff =
            how === 'cut off' ? proxy.cut() : database.sql`select pg_terminate_backend(${row.pid})`.execute()
          await Promise.all([tx`select pg_sleep(20)`, cutOff])
        })
        await expect(doomed).rejects.toMatchObject({
          code: expect.stringMatching(/^(CONNECTION_CLOSED|57P01)$/),
        })
        if (how === 'cut off') await proxy.mend()
        const after = await transaction(sql, (tx) => tx<{ one: number }[]>`select 1 as one`)
        expect(after[0]?.one).toBe(1)
        expect(crashes).toEqual([])
      } finally {
        process.off('uncaughtException', onCrash)
        await sql.end({ timeout: 1 })
        await proxy.close()
      }
    },
  )
})
