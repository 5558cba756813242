import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../../packages/server/src/database/connect.ts'
import { rolledBack } from '../../packages/server/test/rolled-back.ts'
import { type Seeded, seedUser } from '../../packages/server/test/seed-user.ts'
import { createTestDatabase, type TestDatabase } from '../../packages/server/test/test-database.ts'

let database: TestDatabase
let sql: Sql
let seeded: Seeded
beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
  seeded = await seedUser(sql, 'ada')
})
afterAll(() => database.drop())

describe('what a write pays for', () => {
  it('a deletion that goes on to other tables finds their rows by an index', async () => {
    const unindexed = await sql`
      select c.conrelid::regclass::text as table, c.conname as name from pg_constraint c
      where c.connamespace = 'holdfast'::regnamespace and c.contype = 'f' and c.confdeltype <> 'a'
        and not exists (
          select from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1]
        )
    `
    expect(unindexed).toEqual([])
  })

  it('a create with a key writes to no index but those in which keys are looked for', async () => {
    const indexes = await sql<{ columns: string[] }[]>`
      select array(
        select a.attname::text from unnest(i.indkey::int2[]) with ordinality k (number, position)
          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number order by k.position
      ) as columns
      from pg_index i where i.indrelid = 'holdfast.idempotency_keys'::regclass
    `
    expect(indexes.map(({ columns }) => columns.join()).sort()).toEqual(['expires_at', 'user_id,key'])
  })

  it.each([
    ['{task.completed}', 0],
    ['{task.progress}', 1],
  ])('progress notes an event only for an endpoint that wants it: %s', (events, noted) =>
    rolledBack(sql, async (tx) => {
      await tx`delete from holdfast.webhook_endpoints`
      await tx`select holdfast.register_endpoint('app', ${events})`
      await tx`create table public.noted (happened text)`
      await tx.unsafe(`
        create or replace function holdfast.note_event(task uuid, owner text, happened text, task_version integer, task_lane text)
        returns void language sql as 'insert into public.noted values (happened)'
      `)
      await tx`update holdfast.tasks set progress = 50 where id = ${seeded.runningTaskId}`
      expect(await tx`select from public.noted`).toHaveLength(noted)
    }),
  )
})
