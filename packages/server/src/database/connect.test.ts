import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from './connect.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url, { maxConnections: 1, applicationName: 'test of connect' })
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

describe('connect', () => {
  it('asks for nothing of its own: a question that nobody waits for could kill the process (P5)', async () => {
    await sql`select 1`
    const [activity] = await sql`
      select (select count(*)::int from pg_prepared_statements) as prepared, application_name as name
      from pg_stat_activity where pid = pg_backend_pid()
    `
    // The one above it, and itself.
    expect(activity).toEqual({ prepared: 2, name: 'test of connect' })
  })

  it.each<[string, unknown[]]>([
    ['text', ['plain', '', 'a b', 'with "quotes"', 'back\\slash', 'NULL', '{},', 'line\nbreak', 'ünï', null]],
    ['uuid', ['0199d2a0-0000-7000-8000-000000000001', null]],
    ['int', [1, -2, null]],
    ['bigint', ['9007199254740993', null]],
    ['float8', [1.5, -0.25, null]],
  ])('takes and gives arrays of %s', async (type, items) => {
    const [row] = await sql.unsafe<{ items: unknown[] }[]>(`select $1::${type}[] as items`, [
      items as string[],
    ])
    expect(row?.items).toEqual(items)
    const [empty] = await sql.unsafe<{ items: unknown[] }[]>(`select $1::${type}[] as items`, [[]])
    expect(empty?.items).toEqual([])
  })

  it('can use them in a join', async () => {
    const rows = await sql`select * from unnest(${['a', 'b']}::text[], ${[1, 2]}::int[]) as t (name, n)`
    expect(rows).toMatchObject([
      { name: 'a', n: 1 },
      { name: 'b', n: 2 },
    ])
  })
})
