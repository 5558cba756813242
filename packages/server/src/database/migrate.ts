import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type postgres from 'postgres'
import { schemaDirectory } from './schema-directory.ts'
import { rolesFor } from './supabase-roles.ts'

export interface MigrateOptions {
  /** Folder holding `migrations/` and `rollback/`. */
  directory?: string
  log?: (line: string) => void
}

/** Any number that nobody else uses for an advisory lock; these are the letters "hold". */
const MIGRATION_LOCK = 0x68_6f_6c_64

/**
 * Applies what has not been applied yet, each file in a transaction of its own, and returns their names. Replicas
 * that start together wait for one another. Every file can also be run again without harm.
 */
export async function migrate(sql: postgres.Sql, options: MigrateOptions = {}): Promise<string[]> {
  const directory = join(options.directory ?? schemaDirectory(), 'migrations')
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort()
  const withRoles = await rolesFor(sql)

  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${MIGRATION_LOCK})`
    await tx`create schema if not exists holdfast`
    await tx`create table if not exists holdfast.migrations (name text primary key, applied_at timestamptz not null default now())`
  })

  const applied: string[] = []
  for (const name of names) {
    const text = await readFile(join(directory, name), 'utf8')
    await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${MIGRATION_LOCK})`
      const [done] = await tx`select from holdfast.migrations where name = ${name}`
      if (done) return
      await tx.unsafe(withRoles(text))
      await tx`insert into holdfast.migrations (name) values (${name})`
      applied.push(name)
      options.log?.(`applied ${name}`)
    })
  }
  return applied
}

/** Takes the newest `steps` migrations back, newest first, and returns their names. */
export async function rollback(
  sql: postgres.Sql,
  steps: number,
  options: MigrateOptions = {},
): Promise<string[]> {
  const directory = join(options.directory ?? schemaDirectory(), 'rollback')
  const withRoles = await rolesFor(sql)
  const undone: string[] = []
  for (let step = 0; step < steps; step++) {
    const name = await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${MIGRATION_LOCK})`
      const [{ exists } = { exists: false }] = await tx<{ exists: boolean }[]>`
        select to_regclass('holdfast.migrations') is not null as exists
      `
      if (!exists) return null
      const [newest] = await tx<
        { name: string }[]
      >`select name from holdfast.migrations order by name desc limit 1`
      if (!newest) return null
      const text = await readFile(join(directory, newest.name), 'utf8')
      // Before the script: the last one drops this very table.
      await tx`delete from holdfast.migrations where name = ${newest.name}`
      await tx.unsafe(withRoles(text))
      return newest.name
    })
    if (!name) break
    undone.push(name)
    options.log?.(`took back ${name}`)
  }
  return undone
}
