-- The schema everything lives in, and, only where they are missing, the roles and functions that Supabase has:
-- the same files then run on Supabase and on any other PostgreSQL (15 or later).

create schema if not exists holdfast;

do $$
declare
  wanted text;
begin
  foreach wanted in array array['anon', 'authenticated', 'service_role'] loop
    if not exists (select from pg_roles where rolname = wanted) then
      begin
        execute format('create role %I nologin noinherit', wanted);
        execute format('comment on role %I is %L', wanted, 'made by holdfast');
      exception when duplicate_object or unique_violation then
        -- Roles belong to the whole cluster: another database's migration made it a moment ago.
        null;
      end;
    end if;
  end loop;

  if not exists (select from pg_namespace where nspname = 'auth') then
    create schema auth;
    comment on schema auth is 'made by holdfast';
    grant usage on schema auth to anon, authenticated, service_role;
  end if;

  if to_regprocedure('auth.uid()') is null then
    create function auth.uid() returns uuid language sql stable set search_path = '' as $f$
      select coalesce(
        nullif(current_setting('request.jwt.claim.sub', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'
      )::uuid
    $f$;
    comment on function auth.uid() is 'made by holdfast';
  end if;

  if to_regprocedure('auth.role()') is null then
    create function auth.role() returns text language sql stable set search_path = '' as $f$
      select coalesce(
        nullif(current_setting('request.jwt.claim.role', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'
      )
    $f$;
    comment on function auth.role() is 'made by holdfast';
  end if;
end
$$;

-- Who is asking, for row-level security. Not auth.uid(): that is a uuid, and the subjects of other OIDC issuers
-- ('auth0|5f…') are not.
create or replace function holdfast.current_user_id() returns text language sql stable set search_path = '' as $$
  select coalesce(
    nullif(current_setting('request.jwt.claim.sub', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'
  )
$$;

-- UUIDv7: 48 bits of milliseconds, then version and random bits. PostgreSQL has its own only from 18 on.
create or replace function holdfast.new_id() returns uuid language sql volatile set search_path = '' as $$
  select encode(
    set_bit(
      set_bit(
        overlay(
          uuid_send(gen_random_uuid())
          placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
          from 1 for 6
        ),
        52, 1
      ),
      53, 1
    ),
    'hex'
  )::uuid
$$;
