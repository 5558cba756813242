import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import type { Sql } from '../../database/connect.ts'
import { claimCopies, countCopies } from './claim-copies.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterEach(() => sql`delete from holdfast.tasks`)
afterAll(() => database.drop())

interface File {
  /** When its source dies, from now; null: never. */
  neededMs: number | null
  /** When it may be tried, from now. */
  dueMs: number
}

/** One task with these files, in their order. */
async function queue(files: File[]): Promise<string> {
  return sql.begin(async (tx) => {
    const [task] = await tx<[{ id: string }]>`
      insert into holdfast.tasks (user_id, type, provider) values ('ada', 'image', 'vendor') returning id
    `
    const needed = files.map((file) => file.neededMs)
    const due = files.map((file) => file.dueMs)
    await tx`
      insert into holdfast.artifacts (task_id, user_id, ordinal, source_url)
      select ${task.id}, 'ada', n - 1, 'https://p.example/' || n from generate_series(1, ${files.length}::int) n
    `
    await tx`
      insert into holdfast.work (task_id, kind, part, provider, needed_by, due_at)
      select ${task.id}, 'copy', n - 1, 'vendor', now() + f.needed * interval '1 ms', now() + f.due * interval '1 ms'
      from unnest(${needed}::float8[], ${due}::float8[]) with ordinality as f (needed, due, n)
    `
    return task.id
  })
}

const claim = (limit: number) => claimCopies(sql, { limit, leaseMs: 60_000 })
const ordinals = (claimed: { ordinal: number }[]) => claimed.map(({ ordinal }) => ordinal)

describe('claiming files to copy', () => {
  it('takes, of those that are due, the ones whose source dies first, exactly in that order', async () => {
    await fc.assert(
      fc
        .asyncProperty(
          fc.array(
            fc.record({
              // Different by seconds, so that no two are of the same moment.
              needed: fc.option(fc.integer({ min: -500, max: 3_000 })),
              due: fc.integer({ min: -1_000, max: 1_000 }).filter((seconds) => Math.abs(seconds) > 30),
            }),
            { minLength: 1, maxLength: 60 },
          ),
          fc.integer({ min: 1, max: 12 }),
          async (files, limit) => {
            const order = files.map(({ needed, due }, index) => ({
              ordinal: index,
              neededMs: needed === null ? null : needed * 1_000,
              dueMs: due * 1_000 + index,
            }))
            await queue(order)
            const expected = order
              .filter(({ dueMs }) => dueMs <= 0)
              .toSorted(
                (a, b) =>
                  (a.neededMs ?? Number.POSITIVE_INFINITY) - (b.neededMs ?? Number.POSITIVE_INFINITY) ||
                  a.dueMs - b.dueMs ||
                  0,
              )
              .map(({ ordinal }) => ordinal)

            const taken: number[] = []
            for (;;) {
              const claimed = await claim(limit)
              expect(claimed.length).toBe(Math.min(limit, expected.length - taken.length))
              if (claimed.length === 0) break
              taken.push(...ordinals(claimed))
            }
            expect(taken).toEqual(expected)
          },
        )
        .afterEach(() => sql`delete from holdfast.tasks`),
      { numRuns: 25 },
    )
  })

  it('saves 200 results whose links die by lot in the order of their deaths, not of their coming', async () => {
    // The short form of `npm run bench -- rescue`, which shows on a clock what the order is worth. 7919 is a prime,
    // so these are 200 different times in no order.
    const lifetimes = Array.from({ length: 200 }, (_, index) => 60_000 + ((index * 7_919) % 200) * 1_000)
    const inOrder = async () => {
      const taken: number[] = []
      for (let claimed = await claim(4); claimed.length > 0; claimed = await claim(4)) {
        taken.push(...ordinals(claimed))
      }
      return taken
    }
    const byDeath = [...lifetimes.keys()].toSorted((a, b) => (lifetimes[a] ?? 0) - (lifetimes[b] ?? 0))
    expect(byDeath.slice(0, 5)).not.toEqual([0, 1, 2, 3, 4])
    await queue(lifetimes.map((neededMs, index) => ({ neededMs, dueMs: index - 10_000 })))
    expect(await inOrder()).toEqual(byDeath)

    // With the deaths kept from it, the same claim takes them as they came.
    await sql`delete from holdfast.tasks`
    await queue(lifetimes.map((_, index) => ({ neededMs: null, dueMs: index - 10_000 })))
    expect(await inOrder()).toEqual([...lifetimes.keys()])
  })

  it('puts those whose source never dies last, and among equals takes whoever has waited longest', async () => {
    await queue([
      { neededMs: null, dueMs: -9_000 },
      { neededMs: 60_000, dueMs: -1_000 },
      { neededMs: 60_000, dueMs: -5_000 },
      { neededMs: 5_000, dueMs: -1 },
      // Most urgent of all, but waiting for its next try.
      { neededMs: 1_000, dueMs: 10_000 },
    ])
    expect(ordinals(await claim(10))).toEqual([3, 2, 1, 0])
    expect(await countCopies(sql)).toEqual({ waiting: 5, due: 0 })
  })

  it('tells what is needed to copy one, raises its epoch and sets when others may take it up', async () => {
    const taskId = await queue([{ neededMs: 90_000, dueMs: -2_000 }])
    const [file] = await claim(1)
    expect(file).toMatchObject({
      taskId,
      ordinal: 0,
      epoch: 1,
      attempts: 0,
      userId: 'ada',
      state: 'remote',
      sourceUrl: 'https://p.example/1',
      externalId: null,
      problem: null,
    })
    expect(file?.leftMs).toBeGreaterThan(80_000)
    expect(file?.leftMs).toBeLessThanOrEqual(90_000)
    expect(file?.lagMs).toBeGreaterThanOrEqual(2_000)
    const [row] = await sql<[{ dueMs: number; epoch: number }]>`
      select (extract(epoch from due_at - now()) * 1000)::float8 as "dueMs", epoch from holdfast.work
    `
    expect(row.epoch).toBe(1)
    expect(row.dueMs).toBeGreaterThan(50_000)
    expect(await claim(1)).toEqual([])
  })

  it('gives no file to two who claim at the same time', async () => {
    await queue(Array.from({ length: 200 }, (_, index) => ({ neededMs: index * 1_000, dueMs: -1 })))
    const claims = await Promise.all(Array.from({ length: 10 }, () => claim(20)))
    const all = claims.flat().map(({ workId }) => workId)
    expect(new Set(all).size).toBe(all.length)
    // Those that others had locked at that moment may be left over; nothing is lost.
    const rest = await claim(200)
    expect(all.length + rest.length).toBe(200)
  })

  it('reads only as many rows as it takes, however many wait', async () => {
    await queue(Array.from({ length: 20_000 }, (_, index) => ({ neededMs: index, dueMs: -index % 7_000 })))
    await sql`analyze holdfast.work`
    const plan = await sql.begin(async (tx) => {
      const rows = await tx<{ 'QUERY PLAN': string }[]>`
        explain (analyze, buffers, costs off) select w.ctid from holdfast.work w
        where w.kind = 'copy' and w.due_at <= now() order by w.needed_by, w.due_at limit 16 for update skip locked
      `
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    })
    expect(plan).toContain('Index Scan using work_copies')
    expect(plan).not.toContain('Sort')
  })

  it('takes up work whose file is gone, so that it does not stand in the way of others for ever', async () => {
    const taskId = await queue([{ neededMs: 1_000, dueMs: -1 }])
    await sql`delete from holdfast.artifacts where task_id = ${taskId}`
    expect(await claim(1)).toMatchObject([{ taskId, artifactId: null }])
  })
})
