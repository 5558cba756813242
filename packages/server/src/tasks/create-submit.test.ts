import type { Priority } from '@holdfast/shared'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { untold } from '../../test/record-notices.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import { createSubmit } from './create-submit.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url)
})
afterEach(() => sql`delete from holdfast.tasks`)
afterAll(async () => {
  await sql.end()
  await database.drop()
})

/** A server that makes one task after the other in transactions of their own where a plugin joins each. */
function serverThatMakes(how: 'together' | 'alone') {
  const plugins = how === 'alone' ? [{ name: 'app', onSubmit: async () => {} }] : []
  const submit = createSubmit({ ...untold(sql), types: scriptedTypes('vendor'), plugins })
  return (userId: string, more: { priority?: Priority; lane?: 'vip_short' } = {}) =>
    submit({
      userId,
      body: { type: 'image', params: { prompt: 'a fox' } },
      idempotencyKey: null,
      traceId: 'trace',
      ...more,
    })
}

const turns = async () => {
  const rows = await sql<{ userId: string; turn: number }[]>`
    select t.user_id as "userId", w.turn::int from holdfast.work w join holdfast.tasks t on t.id = w.task_id
    where w.kind = 'send' order by w.turn, t.user_id
  `
  return Object.fromEntries(
    [...Map.groupBy(rows, ({ userId }) => userId)].map(([userId, own]) => [
      userId,
      own.map(({ turn }) => turn),
    ]),
  )
}

describe.each(['together', 'alone'] as const)('the turn of a task, made %s', (how) => {
  it('is the number of its user’s own tasks that wait', async () => {
    const make = serverThatMakes(how)
    await make('ada')
    if (how === 'together') await Promise.all([make('ada'), make('ada'), make('bob'), make('bob')])
    else for (const user of ['ada', 'ada', 'bob', 'bob']) await make(user)
    expect(await turns()).toEqual({ ada: [0, 1, 2], bob: [0, 1] })
  })

  it('begins at the lowest that waits, so that nobody gains by coming late', async () => {
    const make = serverThatMakes(how)
    for (let count = 0; count < 4; count++) await make('ada')
    await sql`delete from holdfast.tasks t using holdfast.work w where w.task_id = t.id and w.turn < 2`
    await make('bob')
    await make('ada')
    expect(await turns()).toEqual({ ada: [2, 3, 4], bob: [2] })
  })

  it('counts within its provider, lane and priority only', async () => {
    const make = serverThatMakes(how)
    await make('ada')
    await make('ada', { priority: 'urgent' })
    await make('ada', { lane: 'vip_short' })
    expect(await turns()).toEqual({ ada: [0, 0, 0] })
  })
})
