-- Signs of life of whoever holds an advisory lock. A paused process keeps its session and with it the lock; when its
-- beat has been silent for longer than its TTL, somebody who waits ends that session. One row per lock, written
-- every third of the TTL.
create table if not exists holdfast.lock_beats (
  name text primary key,
  -- Together they name a session for good: process ids are used again, start times are not.
  pid integer not null,
  backend_start timestamptz not null,
  -- Host and process, for people who look.
  holder text not null,
  ttl_ms integer not null,
  beat_at timestamptz not null default now(),
  constraint lock_ttl_is_positive check (ttl_ms > 0)
) with (fillfactor = 50);

-- S1: nothing in here is for users.
revoke all on holdfast.lock_beats from public, anon, authenticated;
grant all on holdfast.lock_beats to service_role;
alter table holdfast.lock_beats enable row level security;
drop policy if exists service_does_everything on holdfast.lock_beats;
create policy service_does_everything on holdfast.lock_beats to service_role using (true) with check (true);
