do $$
declare
  name text;
begin
  for name in select tablename from pg_tables where schemaname = 'holdfast' and tablename <> 'migrations' loop
    execute format('drop policy if exists owner_reads on holdfast.%I', name);
    execute format('drop policy if exists service_does_everything on holdfast.%I', name);
    execute format('alter table holdfast.%I disable row level security', name);
  end loop;
end
$$;

revoke all on all tables in schema holdfast from authenticated, service_role;
revoke all on all sequences in schema holdfast from service_role;
revoke all on all functions in schema holdfast from authenticated, service_role;
grant execute on all functions in schema holdfast to public;
revoke usage on schema holdfast from authenticated, service_role;
