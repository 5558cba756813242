import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sql } from './connect.ts'
import { errorCode } from './database-errors.ts'
import { schemaDirectory } from './schema-directory.ts'

/** `older`: some of the migrations that this release brings have not been applied. A newer schema is `current`. */
export type SchemaState = 'current' | 'missing' | 'older'

let expected: Promise<string[]> | undefined

/** One statement where `holdfast migrate` made the schema, one more where the Supabase CLI did. */
export async function readSchemaState(sql: Sql): Promise<SchemaState> {
  expected ??= readdir(join(schemaDirectory(), 'migrations'))
  const names = (await expected).filter((name) => name.endsWith('.sql'))
  const applied = await readNames(sql`select name from holdfast.migrations`)
  const unapplied = names.filter((name) => !applied.has(name))
  if (unapplied.length === 0) return 'current'
  // `supabase db push` applies the same files, and writes down only what stands before the first underscore.
  const pushed = await readNames(sql`select version as name from supabase_migrations.schema_migrations`)
  const left = unapplied.filter((name) => !pushed.has(name.slice(0, name.indexOf('_'))))
  if (left.length === 0) return 'current'
  return left.length === names.length ? 'missing' : 'older'
}

async function readNames(query: PromiseLike<Iterable<{ name?: string }>>): Promise<Set<string>> {
  try {
    return new Set([...(await query)].map(({ name }) => name ?? ''))
  } catch (error) {
    if (isUndefinedTable(error)) return new Set()
    throw error
  }
}

/** Also what any other statement is told where the schema is missing. */
export function isUndefinedTable(error: unknown): boolean {
  const code = errorCode(error)
  return code === '42P01' || code === '3F000'
}
