import type { Sql } from '../src/database/connect.ts'

/**
 * Everything PostgreSQL knows of the schemas `holdfast` and `auth`, one line each and in order, so that two states
 * can be compared. Rights are spelled out: the default and the same granted explicitly are equal.
 */
export async function readCatalog(sql: Sql): Promise<string[]> {
  const rows = await sql<{ line: string }[]>`
    with
    space as (select * from pg_namespace where nspname in ('holdfast', 'auth')),
    relation as (
      select c.*, s.nspname || '.' || c.relname as name from pg_class c join space s on s.oid = c.relnamespace
      where c.relkind in ('r', 'v', 'm', 'p', 'S')
    ),
    right_of as (
      select 'schema ' || nspname as what, coalesce(nspacl, acldefault('n', nspowner)) as acl from space
      union all
      select 'relation ' || name, coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner)) from relation
      union all
      select 'column ' || r.name || '.' || a.attname, a.attacl from pg_attribute a join relation r on r.oid = a.attrelid
      where a.attacl is not null and not a.attisdropped
      union all
      select 'function ' || p.oid::regprocedure, coalesce(proacl, acldefault('f', proowner)) from pg_proc p join space s on s.oid = p.pronamespace
    )
    select 'schema ' || nspname || ' ' || coalesce(obj_description(oid, 'pg_namespace'), '') as line from space
    union all
    select format('relation %s %s rls=%s force=%s %s', relkind, name, relrowsecurity, relforcerowsecurity, reloptions) from relation
    union all
    select format('column %s.%s %s notnull=%s identity=%s default=%s', r.name, a.attname, format_type(a.atttypid, a.atttypmod),
      a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid))
    from pg_attribute a join relation r on r.oid = a.attrelid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped
    union all
    select format('constraint %s %s %s', r.name, c.conname, pg_get_constraintdef(c.oid)) from pg_constraint c join relation r on r.oid = c.conrelid
    union all
    select 'index ' || pg_get_indexdef(i.indexrelid) from pg_index i join relation r on r.oid = i.indrelid
    union all
    select 'trigger ' || pg_get_triggerdef(t.oid) from pg_trigger t join relation r on r.oid = t.tgrelid where not t.tgisinternal
    union all
    select 'function ' || pg_get_functiondef(p.oid) from pg_proc p join space s on s.oid = p.pronamespace
    union all
    select format('policy %s on %s.%s %s to %s using %s check %s', policyname, schemaname, tablename, cmd, roles, qual, with_check)
    from pg_policies where schemaname = 'holdfast'
    union all
    select format('right %s: %s may %s', what, case grantee when 0 then 'public' else grantee::regrole::text end, privilege_type)
    from right_of, aclexplode(acl)
    order by 1
  `
  return rows.map((row) => row.line)
}
