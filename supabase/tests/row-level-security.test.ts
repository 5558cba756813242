import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sql, Tx } from '../../packages/server/src/database/connect.ts'
import { rolledBack } from '../../packages/server/test/rolled-back.ts'
import { seedUser } from '../../packages/server/test/seed-user.ts'
import { createTestDatabase, type TestDatabase } from '../../packages/server/test/test-database.ts'

let database: TestDatabase
let sql: Sql

/** Read from the catalog, so that a table or view that comes later is covered by itself. */
interface Relation {
  name: string
  isView: boolean
  columns: string[]
  /** Those that `authenticated` may read. */
  visible: string[]
}
let relations: Relation[]
/** Those that are of nobody, such as the list of migrations: they have no user and no task. */
let ownerless: string[]
const OUT_OF_SIGHT = ['provider_jobs', 'work', 'idempotency_keys', 'dead_letters', 'credit_audit']
const HIDDEN_COLUMNS = {
  tasks: ['max_attempts', 'timeout_ms', 'poll_count', 'last_polled_at', 'usage', 'plan', 'changed_xid'],
  conversations: ['changed_xid'],
  artifacts: ['source_url', 'source_expires_at', 'object_key', 'sha256', 'attempts', 'last_error'],
  credit_ledger: ['reason', 'actor', 'key', 'shortfall'],
}

beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
  await seedUser(sql, 'ada')
  await seedUser(sql, 'bob')
  relations = await sql<Relation[]>`
    select c.relname as name, c.relkind in ('v', 'm') as "isView", array_agg(a.attname::text order by a.attnum) as columns,
      coalesce(array_agg(a.attname::text order by a.attnum) filter (where has_column_privilege('authenticated', c.oid, a.attnum, 'select')), '{}') as visible
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
    group by c.oid, c.relname, c.relkind order by 1
  `
  ownerless = relations
    .filter(({ columns }) => !columns.includes('user_id') && !columns.includes('task_id'))
    .map(({ name }) => name)
})
afterAll(() => database.drop())

function as<T>(role: string, claims: string | null, work: (tx: Tx) => Promise<T>): Promise<T> {
  return rolledBack(sql, async (tx) => {
    if (claims !== null) await tx`select set_config('request.jwt.claims', ${claims}, true)`
    await tx.unsafe(`set local role ${role}`)
    return work(tx)
  })
}
const claimsOf = (userId: string) => JSON.stringify({ sub: userId, role: 'authenticated' })
const asAda = <T>(work: (tx: Tx) => Promise<T>) => as('authenticated', claimsOf('ada'), work)
const quoted = (columns: string[]) => columns.map((column) => `"${column}"`).join(', ')

/** Everything that could change a relation, one statement per column where there are columns. */
function changes({ name, columns }: Relation): string[] {
  return [
    `insert into holdfast.${name} default values`,
    ...columns.map((column) => `insert into holdfast.${name} ("${column}") values (null)`),
    ...columns.map((column) => `update holdfast.${name} set "${column}" = "${column}"`),
    ...columns.map((column) => `update holdfast.${name} set "${column}" = default`),
    `delete from holdfast.${name}`,
    `truncate holdfast.${name} cascade`,
  ]
}

/**
 * In one round trip: there are hundreds. What writes an identity column, or a view that cannot be written to, is
 * refused before rights are asked for.
 */
async function expectAllRefused(role: string, claims: string | null, statements: string[]) {
  const allowed = await as(role, claims, async (tx) => {
    await tx`select set_config('test.statements', ${JSON.stringify(statements)}, true)`
    await tx.unsafe(`
      do $$
      declare
        statement text;
        allowed jsonb := '[]';
      begin
        for statement in select jsonb_array_elements_text(current_setting('test.statements')::jsonb) loop
          begin
            execute statement;
            allowed := allowed || to_jsonb(statement);
          exception
            when insufficient_privilege or generated_always or object_not_in_prerequisite_state or wrong_object_type
              or feature_not_supported then null;
            when others then allowed := allowed || to_jsonb(statement || ' -> ' || sqlerrm);
          end;
        end loop;
        perform set_config('test.allowed', allowed::text, true);
      end
      $$
    `)
    const [row] = await tx<{ allowed: string }[]>`select current_setting('test.allowed') as allowed`
    return JSON.parse(row?.allowed ?? '')
  })
  expect(allowed).toEqual([])
}

describe('row-level security (S1)', () => {
  it('is on for every table, unless nobody but the service can reach it at all', async () => {
    const open = await sql`
      select c.relname from pg_class c
      where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p') and not c.relrowsecurity
        and (has_table_privilege('authenticated', c.oid, 'select, insert, update, delete')
          or has_any_column_privilege('authenticated', c.oid, 'select, insert, update')
          or c.relname <> all(${ownerless}))
    `
    expect(open).toHaveLength(0)
  })

  it('every table has rows of ada and of bob to hide: a new table is to be added to seedUser', async () => {
    for (const { name, columns } of relations.filter(({ name }) => !ownerless.includes(name))) {
      const whose = columns.includes('user_id')
        ? `select user_id as "user" from holdfast.${name}`
        : `select t.user_id as "user" from holdfast.${name} r join holdfast.tasks t on t.id = r.task_id`
      const users = (await sql.unsafe<{ user: string }[]>(whose)).map(({ user }) => user)
      expect(new Set(users), name).toEqual(new Set(['ada', 'bob']))
    }
  })

  it('every view runs with the rights of whoever asks', async () => {
    const withTheirOwners = (tx: Sql | Tx) => tx<{ relname: string }[]>`
      select relname from pg_class
      where relnamespace = 'holdfast'::regnamespace and relkind in ('v', 'm')
        and not coalesce(reloptions @> '{security_invoker=true}' or reloptions @> '{security_invoker=on}', false)
    `
    expect(await withTheirOwners(sql)).toHaveLength(0)
    await rolledBack(sql, async (tx) => {
      await tx.unsafe('create view holdfast.leak as select * from holdfast.tasks')
      expect(await withTheirOwners(tx)).toMatchObject([{ relname: 'leak' }])
    })
  })

  it('as authenticated, ada sees her own rows and nobody else’s, in everything that can be seen', async () => {
    const seen = relations.filter(({ visible }) => visible.length > 0)
    expect(seen.map(({ name }) => name)).toEqual([
      'artifacts',
      'conversations',
      'credit_accounts',
      'credit_ledger',
      'messages',
      'tasks',
    ])
    for (const { name, visible } of seen) {
      expect(visible, `${name} has to say whose its rows are`).toContain('user_id')
      const rows = await asAda((tx) =>
        tx.unsafe<{ user_id: string }[]>(`select ${quoted(visible)} from holdfast.${name}`),
      )
      expect(rows.length, name).toBeGreaterThan(0)
      expect(new Set(rows.map(({ user_id }) => user_id)), name).toEqual(new Set(['ada']))
    }
  })

  it('as authenticated, the tables between us and the provider, and those of nobody, are out of sight', async () => {
    for (const name of [...OUT_OF_SIGHT, ...ownerless]) {
      expect(relations.find((relation) => relation.name === name)?.visible, name).toEqual([])
      await expectAllRefused('authenticated', claimsOf('ada'), [`select count(*) from holdfast.${name}`])
    }
  })

  it('as authenticated, every hidden column is refused, even in a condition or an order', async () => {
    for (const [name, columns] of Object.entries(HIDDEN_COLUMNS)) {
      const relation = relations.find((candidate) => candidate.name === name)
      expect(relation?.visible.filter((column) => columns.includes(column))).toEqual([])
    }
    for (const { name, columns, visible } of relations) {
      await expectAllRefused(
        'authenticated',
        claimsOf('ada'),
        columns
          .filter((column) => !visible.includes(column))
          .flatMap((column) => [
            `select "${column}" from holdfast.${name}`,
            `select 1 from holdfast.${name} where "${column}" is not null`,
            `select 1 from holdfast.${name} order by "${column}"`,
          ]),
      )
    }
  })

  it('as authenticated, nothing can be changed, ada’s own status and balance included', async () => {
    for (const relation of relations)
      await expectAllRefused('authenticated', claimsOf('ada'), changes(relation))
    await expectAllRefused('authenticated', claimsOf('ada'), [
      `update holdfast.tasks set status = 'cancelled' where user_id = 'ada'`,
      `update holdfast.credit_accounts set balance = 1000000 where user_id = 'ada'`,
      `create table holdfast.mine ()`,
      `alter table holdfast.tasks disable row level security`,
      `create policy mine on holdfast.tasks using (true)`,
      `drop table holdfast.tasks`,
      `select * from holdfast.tasks for update`,
    ])
  })

  it('as authenticated, the only function to call is the one that tells who you are', async () => {
    const rows = await sql<{ name: string }[]>`
      select proname as name from pg_proc
      where pronamespace = 'holdfast'::regnamespace and has_function_privilege('authenticated', oid, 'execute')
    `
    expect(rows).toMatchObject([{ name: 'current_user_id' }])
    const sequences = await sql`
      select from pg_class where relnamespace = 'holdfast'::regnamespace and relkind = 'S'
        and (has_sequence_privilege('authenticated', oid, 'usage, select, update') or has_sequence_privilege('anon', oid, 'usage, select, update'))
    `
    expect(sequences).toHaveLength(0)
  })

  it.each<[string, string | null]>([
    ['no claims', null],
    ['empty claims', ''],
    ['an empty object', '{}'],
    ['an empty subject', '{"sub": ""}'],
    ['a null subject', '{"sub": null}'],
    ['a subject that is a pattern', '{"sub": "%"}'],
    ['a list', '["ada"]'],
    ['a string', '"ada"'],
  ])('as authenticated with %s there is nothing', async (_, claims) => {
    for (const { name, visible } of relations.filter(({ visible }) => visible.length > 0)) {
      const rows = await as('authenticated', claims, (tx) =>
        tx.unsafe(`select ${quoted(visible)} from holdfast.${name}`),
      )
      expect(rows, name).toHaveLength(0)
    }
  })

  it('as authenticated with claims that are no JSON every question is an error', async () => {
    for (const { name } of relations.filter(({ visible }) => visible.length > 0))
      await expect(
        as('authenticated', '{"sub": "ada"', (tx) => tx.unsafe(`select user_id from holdfast.${name}`)),
      ).rejects.toMatchObject({ code: '22P02' })
  })

  it('as anon there is nothing at all, whatever the claims say', async () => {
    for (const relation of relations)
      await expectAllRefused('anon', claimsOf('ada'), [
        `select count(*) from holdfast.${relation.name}`,
        ...relation.columns.map((column) => `select "${column}" from holdfast.${relation.name}`),
        ...changes(relation),
      ])
    const functions = await sql`
      select proname from pg_proc where pronamespace = 'holdfast'::regnamespace and has_function_privilege('anon', oid, 'execute')
    `
    expect(functions).toHaveLength(0)
  })

  it('as service_role everything is seen and can be changed', async () => {
    for (const { name, isView, columns } of relations.filter(({ name }) => !ownerless.includes(name))) {
      const [all] = await sql.unsafe<{ count: string }[]>(`select count(*) from holdfast.${name}`)
      await as('service_role', null, async (tx) => {
        const [seen] = await tx.unsafe<{ count: string }[]>(`select count(*) from holdfast.${name}`)
        expect(seen, name).toEqual(all)
        if (name !== 'credit_ledger' && !isView) {
          const changed = await tx.unsafe(
            `update holdfast.${name} set "${columns.at(-1)}" = "${columns.at(-1)}"`,
          )
          expect(changed.count, name).toBe(Number(all?.count))
        }
      })
    }
    await as('service_role', null, async (tx) => {
      await tx`insert into holdfast.tasks (user_id, type, provider) values ('cy', 'image', 'kie')`
      await tx`insert into holdfast.work (task_id, kind, provider) select id, 'send', 'kie' from holdfast.tasks where user_id = 'cy'`
      expect((await tx`delete from holdfast.tasks where user_id = 'cy'`).count).toBe(1)
    })
  })
})
