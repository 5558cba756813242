import type postgres from 'postgres'

/** Supabase's own. Elsewhere the first migration makes them, where it may. */
const ROLES = ['anon', 'authenticated', 'service_role'] as const

/** Every database has it, its one member is the owner of the database, and it can be granted rights. */
const OWNER = 'pg_database_owner'

/**
 * Roles belong to a whole cluster, and the plain owner of a database may not make any. Such an owner does without: what
 * the migrations grant to these roles goes to the owner, who has it anyway. Returns what to do to the text of a
 * migration. Rejects if it is not the owner who asks, since then somebody else would be granted everything.
 */
export async function rolesFor(sql: postgres.Sql): Promise<(text: string) => string> {
  const [row] = await sql<{ missing: string[]; may_make: boolean; is_owner: boolean; me: string }[]>`
    select
      array(select name from unnest(${[...ROLES]}::text[]) name where name not in (select rolname from pg_roles)) as missing,
      (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as may_make,
      pg_has_role(current_user, ${OWNER}, 'member') as is_owner,
      current_user::text as me
  `
  if (!row || row.missing.length === 0 || row.may_make) return (text) => text
  if (!row.is_owner) {
    throw new Error(
      `The role ${row.me} may not make the roles ${row.missing.join(', ')} and does not own this database. Either let the owner of the database migrate, or have a superuser run this once:\n${row.missing.map((name) => `  create role ${name} nologin noinherit;`).join('\n')}`,
    )
  }
  const names = new RegExp(`\\b(${ROLES.join('|')})\\b`, 'g')
  return (text) => text.replace(names, OWNER)
}
