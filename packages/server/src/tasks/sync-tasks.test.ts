import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { setProgress } from '../../test/set-progress.ts'
import { settleTask } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import type { Sql } from '../database/connect.ts'
import { type KnownTasks, syncTasks } from './sync-tasks.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
})
afterAll(() => database.drop())

const STRANGER = '0199d2a0-0000-7000-8000-000000000001'

async function idsOf(userId: string, cursor: string | null = null, known: KnownTasks = {}) {
  return (await syncTasks(sql, { userId, cursor, known })).tasks.map(({ id }) => id)
}

describe('a first sync', () => {
  it('brings what is unfinished, oldest first, and what ended lately', async () => {
    const pending = await makeTask(sql, { userId: 'ada' })
    const running = await makeRunningTask(sql, { userId: 'ada' })
    const ended = await makeRunningTask(sql, { userId: 'ada' })
    await settleTask(sql, ended.id, { status: 'completed', outputs: [] })
    await makeTask(sql, { userId: 'bob' })
    const answer = await syncTasks(sql, { userId: 'ada' })
    expect(answer.tasks.map(({ id }) => id)).toEqual([pending.id, running.id, ended.id].sort())
    expect(answer.gone).toEqual([])
    expect(answer.cursor).toMatch(/^[0-9a-f]+\.\d+\.\d+$/)
    expect(Math.abs(Date.parse(answer.now) - Date.now())).toBeLessThan(60_000)
  })

  it('leaves out what ended long ago', async () => {
    const old = await makeTask(sql, { userId: 'old' })
    await settleTask(sql, old.id, { status: 'cancelled' })
    await sql`alter table holdfast.tasks disable trigger guard_task_update`
    await sql`update holdfast.tasks set created_at = now() - interval '3 days', finished_at = now() - interval '2 days' where id = ${old.id}`
    await sql`alter table holdfast.tasks enable trigger guard_task_update`
    expect(await idsOf('old')).toEqual([])
  })

  it('of somebody without tasks or conversations is empty and still has a cursor and a time', async () => {
    expect(await syncTasks(sql, { userId: 'nobody' })).toEqual({
      tasks: [],
      gone: [],
      conversations: [],
      unreadConversations: 0,
      cursor: expect.stringMatching(/^[0-9a-f]+\.\d+\.\d+$/),
      now: expect.any(String),
    })
  })
})

describe('with a cursor', () => {
  it('brings what changed since, at whatever end of its life', async () => {
    const quiet = await makeRunningTask(sql, { userId: 'cy' })
    const ending = await makeRunningTask(sql, { userId: 'cy' })
    const first = await syncTasks(sql, { userId: 'cy' })
    const known = Object.fromEntries(
      first.tasks.map((task): [string, [number, number | null]] => [task.id, [task.version, task.progress]]),
    )
    await settleTask(sql, ending.id, { status: 'cancelled' })
    const born = await makeTask(sql, { userId: 'cy' })
    expect((await idsOf('cy', first.cursor, known)).sort()).toEqual([ending.id, born.id].sort())
    expect(known).toHaveProperty(quiet.id)
  })

  it('a transaction that began before the read and commits after it comes with the next sync', async () => {
    const slow = await makeRunningTask(sql, { userId: 'di' })
    const fast = await makeRunningTask(sql, { userId: 'di' })
    let between: Awaited<ReturnType<typeof syncTasks>> | undefined
    await sql.begin(async (tx) => {
      await tx`update holdfast.tasks set progress = 10 where id = ${slow.id}`
      // Begins later and commits earlier: a cursor made of times would jump past the slow one.
      await setProgress(sql, fast.id, 50)
      between = await syncTasks(sql, { userId: 'di' })
    })
    expect(between?.tasks.find(({ id }) => id === slow.id)?.progress).toBeNull()
    expect(between?.tasks.find(({ id }) => id === fast.id)?.progress).toBe(50)
    const next = await syncTasks(sql, { userId: 'di', cursor: between?.cursor ?? null })
    expect(next.tasks.find(({ id }) => id === slow.id)?.progress).toBe(10)
  })

  it.each([
    ...['812', '9999999999999999999', '18446744073709551616', '', 'abc', '-1', '1.5', '1e3', "1'; drop"],
    ...[
      'ab.9999999999999999999.9999999',
      'ab.99999999999999999999.5',
      'ab.1.0',
      'ab.0.491000',
      'ab.1',
      '.1.1',
    ],
  ])(
    'one that is not ours, of an earlier release or of another run of PostgreSQL (%s), counts as none',
    async (cursor) => {
      const task = await makeTask(sql, { userId: `user of ${cursor}` })
      expect(await idsOf(`user of ${cursor}`, cursor)).toEqual([task.id])
    },
  )

  it('one from the future counts as none', async () => {
    const task = await makeTask(sql, { userId: 'eva' })
    const { cursor } = await syncTasks(sql, { userId: 'eva' })
    const [run, xid, hour] = cursor.split('.')
    expect(await idsOf('eva', `${run}.${Number(xid) + 1_000_000}.${hour}`)).toEqual([task.id])
  })
})

describe('what the caller knows', () => {
  it('is not told again, unless it is newer', async () => {
    const task = await makeRunningTask(sql, { userId: 'eli' })
    await setProgress(sql, task.id, 40)
    const [held] = (await syncTasks(sql, { userId: 'eli' })).tasks
    const version = held?.version ?? 0
    expect(await idsOf('eli', null, { [task.id]: [version, 40] })).toEqual([])
    expect(await idsOf('eli', null, { [task.id]: [version + 5, 40] })).toEqual([])
    expect(await idsOf('eli', null, { [task.id]: [version, 39] })).toEqual([task.id])
    expect(await idsOf('eli', null, { [task.id]: [version - 1, 99] })).toEqual([task.id])
  })

  it('is brought up to date even if it changed before the cursor and ended long ago', async () => {
    const task = await makeRunningTask(sql, { userId: 'fay' })
    await settleTask(sql, task.id, { status: 'cancelled' })
    const { cursor } = await syncTasks(sql, { userId: 'fay' })
    await makeTask(sql, { userId: 'fay' })
    expect(await idsOf('fay', cursor, { [task.id]: [1, null] })).toContain(task.id)
  })

  it('is gone if it is nobody’s or somebody else’s', async () => {
    const own = await makeTask(sql, { userId: 'gil' })
    const others = await makeTask(sql, { userId: 'hux' })
    const answer = await syncTasks(sql, {
      userId: 'gil',
      known: { [own.id]: [0, null], [others.id]: [0, null], [STRANGER]: [3, 50] },
    })
    expect(answer.gone.sort()).toEqual([others.id, STRANGER].sort())
    expect(answer.tasks.map(({ id }) => id)).toEqual([own.id])
  })

  it('may have a version beyond what PostgreSQL calls an integer', async () => {
    const task = await makeTask(sql, { userId: 'ike' })
    expect(await idsOf('ike', null, { [task.id]: [Number.MAX_SAFE_INTEGER, null] })).toEqual([])
  })
})
