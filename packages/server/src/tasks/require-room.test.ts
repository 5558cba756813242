import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askedFor } from '../../test/asked-for.ts'
import { makeTask } from '../../test/make-task.ts'
import { untold } from '../../test/record-notices.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import { createTask } from './create-task.ts'
import { requireRoom } from './require-room.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url)
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

let users = 0
const newUser = () => {
  users += 1
  return `user-${users}`
}
const require = (userId: string, perMinute: number, unfinished = 1_000) =>
  sql.begin((tx) => requireRoom(tx, userId, { perMinute, unfinished }))

describe('room in a minute', () => {
  it('lets a user have so many in a minute, and each user their own', async () => {
    const [ada, bob] = [newUser(), newUser()]
    for (let count = 0; count < 3; count += 1) {
      await require(ada, 3)
      await makeTask(sql, { userId: ada })
    }
    await expect(require(ada, 3)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    await require(bob, 3)
    await require(ada, 4)
  })

  it('says after how long there is room again: when the oldest of them leaves the minute', async () => {
    const ada = newUser()
    await askedFor(sql, ada, 61_000)
    await askedFor(sql, ada, 50_500)
    await askedFor(sql, ada, 10_000)
    const refusal = await require(ada, 2).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) })
    const { retryAfterSeconds } = refusal as { retryAfterSeconds: number }
    expect(retryAfterSeconds).toBeGreaterThanOrEqual(5)
    expect(retryAfterSeconds).toBeLessThanOrEqual(10)
    await require(ada, 3)
  })

  it('with a lower limit than what was used, waits for as many as must leave', async () => {
    const ada = newUser()
    for (const agoMs of [50_000, 40_000, 30_000, 20_000]) await askedFor(sql, ada, agoMs)
    const refusal = await require(ada, 2).catch((error: unknown) => error)
    // Two may remain: the third youngest must have left, which takes another 20 to 30 s.
    const { retryAfterSeconds } = refusal as { retryAfterSeconds: number }
    expect(retryAfterSeconds).toBeGreaterThan(20)
    expect(retryAfterSeconds).toBeLessThanOrEqual(30)
  })

  it('holds for requests at the same moment, from many connections', async () => {
    const userId = newUser()
    const answers = await Promise.allSettled(
      Array.from({ length: 12 }, () =>
        createTask(untold(sql), scriptedTypes('p'), {
          userId,
          body: { type: 'image', params: { prompt: 'a fox' } },
          idempotencyKey: null,
          traceId: 'trace',
          room: { perMinute: 5, unfinished: 1_000 },
        }),
      ),
    )
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(await sql`select from holdfast.tasks where user_id = ${userId}`).toHaveLength(5)
  })

  it('does not count a repeated request: its task is there already', async () => {
    const userId = newUser()
    const once = () =>
      createTask(untold(sql), scriptedTypes('p'), {
        userId,
        body: { type: 'image', params: { prompt: 'a fox' } },
        idempotencyKey: 'key',
        traceId: 'trace',
        room: { perMinute: 1, unfinished: 1_000 },
      })
    const { task } = await once()
    expect(await once()).toMatchObject({ task: { id: task.id }, created: false })
  })
})

describe('room for unfinished tasks', () => {
  it('is what is left of it: those that have ended, and those that other tasks made, take none', async () => {
    const ada = newUser()
    const first = await makeTask(sql, { userId: ada })
    await makeTask(sql, { userId: ada })
    await sql`update holdfast.tasks set parent_id = ${first.id} where user_id = ${ada} and id <> ${first.id}`
    await makeTask(sql, { userId: ada })
    await require(ada, 1_000, 3)
    await expect(require(ada, 1_000, 2)).rejects.toMatchObject({
      code: 'TOO_MANY_UNFINISHED',
      retryAfterSeconds: 15,
    })
    await sql`
      update holdfast.tasks set status = 'cancelled', finished_at = now() where id = ${first.id}
    `
    await require(ada, 1_000, 2)
    await require(newUser(), 1_000, 1)
  })

  it('holds for requests at the same moment, from many connections', async () => {
    const userId = newUser()
    const answers = await Promise.allSettled(
      Array.from({ length: 12 }, () =>
        createTask(untold(sql), scriptedTypes('p'), {
          userId,
          body: { type: 'image', params: { prompt: 'a fox' } },
          idempotencyKey: null,
          traceId: 'trace',
          room: { perMinute: 1_000, unfinished: 5 },
        }),
      ),
    )
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(await sql`select from holdfast.tasks where user_id = ${userId}`).toHaveLength(5)
  })
})
