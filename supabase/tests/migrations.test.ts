import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connect, type Sql } from '../../packages/server/src/database/connect.ts'
import { migrate, rollback } from '../../packages/server/src/database/migrate.ts'
import { schemaDirectory } from '../../packages/server/src/database/schema-directory.ts'
import { dumpTables } from '../../packages/server/test/dump-tables.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../../packages/server/test/empty-database.ts'
import { type OwnCluster, startOwnCluster } from '../../packages/server/test/own-cluster.ts'
import { readCatalog } from '../../packages/server/test/read-catalog.ts'
import { seedUser } from '../../packages/server/test/seed-user.ts'

const ALL = Number.POSITIVE_INFINITY
const ROLES = ['anon', 'authenticated', 'service_role']

// A cluster of its own: roles belong to the whole cluster, and this one begins without ours.
let server: OwnCluster
let database: EmptyDatabase | undefined

beforeAll(async () => {
  server = await startOwnCluster()
})
afterAll(() => server?.stop())
afterEach(async () => {
  await database?.drop()
  database = undefined
})

async function open(): Promise<Sql> {
  database = await createEmptyDatabase(server.url)
  return database.sql
}

async function existingRoles(sql: Sql): Promise<string[]> {
  const rows = await sql<{ rolname: string }[]>`select rolname from pg_roles where rolname in ${sql(ROLES)}`
  return rows.map(({ rolname }) => rolname).sort()
}

const migrationNames = async () => (await readdir(join(schemaDirectory(), 'migrations'))).sort()

describe('migrations (S1)', () => {
  it('each has a rollback of the same name', async () => {
    expect((await readdir(join(schemaDirectory(), 'rollback'))).sort()).toEqual(await migrationNames())
  })

  it('up → down → up leaves the same schema, and down leaves nothing, not even the roles', async () => {
    const sql = await open()
    const before = await readCatalog(sql)
    expect(before).toEqual([])

    expect(await migrate(sql)).toEqual(await migrationNames())
    const up = await readCatalog(sql)
    expect(up.length).toBeGreaterThan(100)
    expect(await existingRoles(sql)).toEqual(ROLES)

    expect(await rollback(sql, ALL)).toEqual((await migrationNames()).reverse())
    expect(await readCatalog(sql)).toEqual(before)
    expect(await existingRoles(sql)).toEqual([])

    await migrate(sql)
    expect(await readCatalog(sql)).toEqual(up)
    await rollback(sql, ALL)
  })

  it('each step down leads exactly to the state before that step up', async () => {
    const sql = await open()
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-steps-'))
    try {
      await mkdir(join(directory, 'migrations'))
      const states: string[][] = []
      for (const name of await migrationNames()) {
        await copyFile(join(schemaDirectory(), 'migrations', name), join(directory, 'migrations', name))
        expect(await migrate(sql, { directory })).toEqual([name])
        states.push(await readCatalog(sql))
      }
      states.pop()
      for (const earlier of states.reverse()) {
        await rollback(sql, 1)
        expect(await readCatalog(sql)).toEqual(earlier)
      }
      await rollback(sql, ALL)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  })

  it('goes down with rows in every table', async () => {
    const sql = await open()
    await migrate(sql)
    await seedUser(sql, 'ada')
    await rollback(sql, ALL)
    expect(await readCatalog(sql)).toEqual([])
  })

  it('has nothing to do the second time, and nothing to take back when there is nothing', async () => {
    const sql = await open()
    expect(await rollback(sql, ALL)).toEqual([])
    await migrate(sql)
    expect(await migrate(sql)).toEqual([])
    await rollback(sql, ALL)
  })

  it('every file can be run again, with those after it, without changing the schema or a row', async () => {
    const sql = await open()
    await migrate(sql)
    await seedUser(sql, 'ada')
    const catalog = await readCatalog(sql)
    const rows = await dumpTables(sql)
    const names = await migrationNames()
    for (const [position, first] of names.entries()) {
      for (const name of names.slice(position)) {
        await sql.unsafe(await readFile(join(schemaDirectory(), 'migrations', name), 'utf8')).simple()
      }
      expect(await readCatalog(sql), first).toEqual(catalog)
    }
    expect(await dumpTables(sql)).toEqual(rows)
    await rollback(sql, ALL)
  })

  it('replicas that start together apply each file once', async () => {
    const sql = await open()
    const applied = await Promise.all([migrate(sql), migrate(sql), migrate(sql)])
    expect(applied.flat().sort()).toEqual(await migrationNames())
    await rollback(sql, ALL)
  })

  it('a file that fails leaves nothing of itself behind and is tried again', async () => {
    const sql = await open()
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-broken-'))
    try {
      await mkdir(join(directory, 'migrations'))
      const file = join(directory, 'migrations', '1_broken.sql')
      await writeFile(file, 'create table holdfast.half (); select 1 / 0;')
      await expect(migrate(sql, { directory })).rejects.toThrow('division by zero')
      expect(await readCatalog(sql)).not.toContainEqual(expect.stringContaining('holdfast.half'))
      await writeFile(file, 'create table holdfast.half ();')
      expect(await migrate(sql, { directory })).toEqual(['1_broken.sql'])
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  })
})

describe('where Supabase was first', () => {
  it('its roles, its auth schema and its auth.uid() stay as they are, up and down', async () => {
    const sql = await open()
    for (const role of ROLES) await sql.unsafe(`create role ${role} nologin noinherit`)
    await sql.unsafe(`
      create schema auth;
      create table auth.users (id uuid primary key);
      create function auth.uid() returns uuid language sql stable as $$ select '11111111-1111-4111-8111-111111111111'::uuid $$;
      create function auth.role() returns text language sql stable as $$ select 'supabase' $$;
      grant usage on schema auth to anon, authenticated, service_role;
    `)
    const before = await readCatalog(sql)
    const ofAuth = (catalog: string[]) => catalog.filter((line) => line.includes('auth.'))
    try {
      await migrate(sql)
      expect(ofAuth(await readCatalog(sql))).toEqual(ofAuth(before))
      const [answer] = await sql`select auth.uid() as uid, auth.role() as role`
      expect(answer).toEqual({ uid: '11111111-1111-4111-8111-111111111111', role: 'supabase' })

      await rollback(sql, ALL)
      expect(await readCatalog(sql)).toEqual(before)
      expect(await existingRoles(sql)).toEqual(ROLES)
    } finally {
      await sql.unsafe('drop schema if exists holdfast cascade; drop schema auth cascade').simple()
      for (const role of ROLES) await sql.unsafe(`drop role ${role}`)
    }
  })

  it('only what was missing is added, and only that is taken back', async () => {
    const sql = await open()
    await sql`create schema auth`
    await sql.unsafe(`create function auth.uid() returns uuid language sql stable as $$ select null::uuid $$`)
    const before = await readCatalog(sql)
    await migrate(sql)
    expect(await sql`select auth.role()`).toHaveLength(1)
    await rollback(sql, ALL)
    expect(await readCatalog(sql)).toEqual(before)
  })

  it('a role that another database still uses outlives the rollback', async () => {
    const sql = await open()
    const other = await createEmptyDatabase(server.url)
    try {
      await migrate(sql)
      await migrate(other.sql)
      await rollback(sql, ALL)
      expect(await existingRoles(sql)).toEqual(ROLES)
      await rollback(other.sql, ALL)
      expect(await existingRoles(sql)).toEqual([])
    } finally {
      await other.drop()
    }
  })
})

describe('for the plain owner of a database, who may not make roles', () => {
  let superuser: Sql
  let name: string
  const connected: Sql[] = []

  async function as(role: string): Promise<Sql> {
    await superuser.unsafe(`create role ${role} login password 'plain'`)
    const login = { username: role, password: 'plain', pathname: name }
    const sql = connect(Object.assign(new URL(server.url), login).href, { maxConnections: 2 })
    connected.push(sql)
    return sql
  }

  async function asOwner(): Promise<Sql> {
    const owner = await as('plain_owner')
    await superuser`alter database ${superuser(name)} owner to plain_owner`
    return owner
  }

  beforeEach(async () => {
    superuser = await open()
    name = (await superuser<{ name: string }[]>`select current_database() as name`)[0]?.name ?? ''
  })
  afterEach(async () => {
    for (const sql of connected.splice(0)) await sql.end({ timeout: 1 })
    await database?.drop()
    database = undefined
    const admin = connect(server.url, { maxConnections: 1 })
    for (const role of ['plain_owner', 'plain_guest', ...ROLES]) {
      await admin.unsafe(`drop role if exists ${role}`)
    }
    await admin.end()
  })

  it('goes up and down without them, and grants nothing to anybody else', async () => {
    const owner = await asOwner()
    expect(await migrate(owner)).toEqual(await migrationNames())
    expect(await existingRoles(owner)).toEqual([])
    await seedUser(owner, 'ada')
    const grantees = await owner<{ grantee: string }[]>`
      select distinct coalesce(r.rolname, 'public') as grantee
      from pg_class c cross join aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
      where c.relnamespace = 'holdfast'::regnamespace
      order by grantee
    `
    expect(grantees.map(({ grantee }) => grantee)).toEqual(['pg_database_owner', 'plain_owner'])
    const guest = await as('plain_guest')
    await expect(guest`select from holdfast.tasks`).rejects.toThrow('permission denied')

    expect(await migrate(owner)).toEqual([])
    await rollback(owner, ALL)
    expect(await readCatalog(owner)).toEqual([])
  })

  it('uses the roles where a superuser made them', async () => {
    const owner = await asOwner()
    for (const role of ROLES) await superuser.unsafe(`create role ${role} nologin noinherit`)
    await migrate(owner)
    const [access] = await owner`
      select has_column_privilege('authenticated', 'holdfast.tasks', 'status', 'select') as reads,
        has_table_privilege('service_role', 'holdfast.work', 'delete') as serves,
        has_table_privilege('authenticated', 'holdfast.work', 'select') as peeks
    `
    expect(access).toEqual({ reads: true, serves: true, peeks: false })
    await rollback(owner, ALL)
    expect(await existingRoles(owner)).toEqual(ROLES)
  })

  it('says what to run once to somebody who is not even the owner, and changes nothing', async () => {
    const guest = await as('plain_guest')
    await superuser`grant create on database ${superuser(name)} to plain_guest`
    await expect(migrate(guest)).rejects.toThrow(
      /plain_guest may not make the roles anon, authenticated, service_role.*superuser run this once:\n {2}create role anon nologin noinherit;\n/s,
    )
    expect(await readCatalog(guest)).toEqual([])
  })
})

describe('the auth shim', () => {
  it('reads the claims as Supabase does', async () => {
    const sql = await open()
    await migrate(sql)
    const uid = '11111111-1111-4111-8111-111111111111'
    const ask = (setting: string, value: string) =>
      sql.begin(async (tx) => {
        await tx`select set_config(${setting}, ${value}, true)`
        return (await tx`select auth.uid() as uid, auth.role() as role, holdfast.current_user_id() as me`)[0]
      })
    const claims = JSON.stringify({ sub: uid, role: 'authenticated' })
    expect(await ask('request.jwt.claims', claims)).toEqual({ uid, role: 'authenticated', me: uid })
    expect(await ask('request.jwt.claim.sub', uid)).toEqual({ uid, role: null, me: uid })
    expect(await ask('request.jwt.claims', '')).toEqual({ uid: null, role: null, me: null })
    await rollback(sql, ALL)
  })

  it('makes ids that are UUIDv7 of now', async () => {
    const sql = await open()
    await migrate(sql)
    const rows = await sql<{ id: string; ms: number }[]>`
      select holdfast.new_id()::text as id, (extract(epoch from clock_timestamp()) * 1000)::float8 as ms from generate_series(1, 50)
    `
    for (const { id, ms } of rows) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(Math.abs(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16) - ms)).toBeLessThan(1_000)
    }
    expect(new Set(rows.map(({ id }) => id)).size).toBe(50)
    await rollback(sql, ALL)
  })
})
