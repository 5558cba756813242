drop function if exists holdfast.new_id();
drop function if exists holdfast.current_user_id();

-- Only what the migration made, told by its comment: Supabase's own stay.
do $$
declare
  made text;
begin
  if obj_description(to_regprocedure('auth.role()'), 'pg_proc') = 'made by holdfast' then
    drop function auth.role();
  end if;
  if obj_description(to_regprocedure('auth.uid()'), 'pg_proc') = 'made by holdfast' then
    drop function auth.uid();
  end if;
  if obj_description(to_regnamespace('auth'), 'pg_namespace') = 'made by holdfast' then
    drop schema auth;
  end if;

  revoke all on schema holdfast from anon, authenticated, service_role;
  for made in
    select rolname from pg_roles
    where rolname in ('anon', 'authenticated', 'service_role')
      and shobj_description(oid, 'pg_authid') = 'made by holdfast'
  loop
    begin
      execute format('drop role %I', made);
    exception when dependent_objects_still_exist then
      raise notice 'role % is used elsewhere in this cluster and stays', made;
    end;
  end loop;
end
$$;

-- The list of applied migrations lives in the schema too; `holdfast migrate --down` drops it last.
do $$
begin
  if not exists (select from pg_class where relnamespace = 'holdfast'::regnamespace and relname <> 'migrations' and relkind in ('r', 'v')) then
    drop table if exists holdfast.migrations;
    drop schema if exists holdfast;
  end if;
end
$$;
