import { copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { migrate, rollback } from '../../packages/server/src/database/migrate.ts'
import { schemaDirectory } from '../../packages/server/src/database/schema-directory.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../../packages/server/test/empty-database.ts'

let database: EmptyDatabase | undefined
let folder = ''
afterEach(async () => {
  await database?.drop()
  await rm(folder, { recursive: true, force: true })
})

/** A database with the schema up to a migration, that one left out. */
async function openBefore(first: string) {
  database = await createEmptyDatabase(inject('postgresUrl'))
  folder = await mkdtemp(join(tmpdir(), 'holdfast-before-'))
  const directory = folder
  for (const part of ['migrations', 'rollback']) {
    await mkdir(join(directory, part))
    for (const name of await readdir(join(schemaDirectory(), part))) {
      if (part === 'rollback' || name < first)
        await copyFile(join(schemaDirectory(), part, name), join(directory, part, name))
    }
  }
  await migrate(database.sql, { directory })
  return database.sql
}

describe('rows that were there before', () => {
  it('deliveries and entries of the ledger get their place, and new ones come after them', async () => {
    const sql = await openBefore('20261118000300')
    await sql`insert into holdfast.webhook_endpoints (id, events) values ('one', '{task.submitted,task.failed}'), ('two', '{}')`
    const [task] = await sql<
      { id: string }[]
    >`insert into holdfast.tasks (user_id, type, provider) values ('ada', 'image', 'kie') returning id`
    const id = task?.id ?? ''
    await sql`
      insert into holdfast.deliveries (endpoint, task_id, user_id, event, version, happened_at)
      select 'one', ${id}, 'ada', 'task.progress', n, now() + n * interval '1 s' from generate_series(20, 2, -1) n
    `
    await sql`insert into holdfast.credit_accounts (user_id) values ('ada')`
    await sql`
      insert into holdfast.credit_ledger (user_id, kind, amount, created_at)
      select 'ada', 'grant', n, now() + n * interval '1 s' from generate_series(20, 1, -1) n
    `

    await migrate(sql)
    await sql`update holdfast.tasks set status = 'failed', finished_at = now(), failure_code = 'X', failure_message = 'x', failure_retryable = true where id = ${id}`
    const deliveries = await sql<{ version: number; event: string }[]>`
      select version, event from holdfast.deliveries where task_id = ${id} order by seq
    `
    expect(deliveries.map(({ version }) => version)).toEqual(
      [...Array(20).keys()].map((n) => n + 1).concat(2),
    )
    expect(deliveries.at(-1)?.event).toBe('task.failed')
    await sql`insert into holdfast.credit_ledger (user_id, kind, amount) values ('ada', 'grant', 21)`
    const entries = await sql<
      { amount: number }[]
    >`select amount::int from holdfast.credit_ledger order by seq`
    expect(entries.map(({ amount }) => amount)).toEqual([...Array(21).keys()].map((n) => n + 1))
    await expect(sql`update holdfast.credit_ledger set amount = 0`).rejects.toMatchObject({
      constraint_name: 'ledger_is_append_only',
    })
    await sql`select holdfast.register_endpoint('three', '{}')`
    expect(await sql`select id, part from holdfast.webhook_endpoints order by part`).toEqual([
      { id: 'one', part: 0 },
      { id: 'two', part: 1 },
      { id: 'three', part: 2 },
    ])
  })

  it('conversations are there as they were, and those that change from now on are found', async () => {
    const sql = await openBefore('20261118000800')
    await sql`insert into holdfast.conversations (user_id, title) select 'ada', 'foxes' from generate_series(1, 3)`
    await migrate(sql)
    const changed = () =>
      sql<{ version: number }[]>`
        select version from holdfast.conversations where user_id = 'ada' and changed_xid > '0' order by version
      `
    expect(await changed()).toEqual([])
    // As the release before writes them.
    await sql`
      update holdfast.conversations set unread_count = 1, updated_at = now()
      where id = (select min(id::text)::uuid from holdfast.conversations)
    `
    await sql`insert into holdfast.conversations (user_id, title) values ('ada', 'owls')`
    expect(await changed()).toEqual([{ version: 1 }, { version: 2 }])
  })

  it('go back to a release that has one dead letter for a task and a sequence of parts', async () => {
    const sql = await openBefore('20261118000300')
    const before = (await sql`select name from holdfast.migrations`).length
    await migrate(sql)
    for (const name of ['one', 'two']) await sql`select holdfast.register_endpoint(${name}, '{}')`
    await sql`
      insert into holdfast.dead_letters (task_id, user_id, kind, provider, lane, attempts, reason)
      select holdfast.new_id(), 'ada', 'send', 'kie', 'free_default', 3, 'no'
      union all
      select '0199d2a0-0000-7000-8000-000000000001', 'ada', 'deliver', e.id, 'free_default', 18, 'no' from holdfast.webhook_endpoints e
    `
    await rollback(sql, (await sql`select from holdfast.migrations`).length - before)
    const open = await sql`select kind from holdfast.dead_letters where resolved_at is null order by kind`
    expect(open).toEqual([{ kind: 'deliver' }, { kind: 'submit' }])
    await sql`insert into holdfast.webhook_endpoints (id, events) values ('three', '{}')`
    expect(await sql`select part from holdfast.webhook_endpoints where id = 'three'`).toEqual([{ part: 2 }])
  })
})
