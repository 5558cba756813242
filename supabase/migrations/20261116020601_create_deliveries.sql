-- Where an app wants to hear of its tasks. Written by the server when it starts, from its settings; the secret with which
-- deliveries are signed is in those settings only.
create table if not exists holdfast.webhook_endpoints (
  id text primary key,
  -- Tells the steps of a task's endpoints apart.
  part smallint generated always as identity (minvalue 0),
  events text[] not null,
  -- When a server last had it in its settings. Long after that it is forgotten, with what was still to be told to it.
  seen_at timestamptz not null default now()
);

-- What is still to be told, in order. Deleted when the endpoint has taken it.
create table if not exists holdfast.deliveries (
  -- Also the id under which it is sent, each time: a receiver knows a repeat by it.
  id uuid primary key default holdfast.new_id(),
  endpoint text not null references holdfast.webhook_endpoints on delete cascade,
  task_id uuid not null references holdfast.tasks on delete cascade,
  user_id text not null,
  event text not null,
  -- Of the task when it happened.
  version integer not null,
  happened_at timestamptz not null default now(),
  -- Given up; an operator may have it tried again.
  failed_at timestamptz
);

create index if not exists deliveries_of_a_task on holdfast.deliveries (task_id, endpoint, id);

create or replace function holdfast.note_event(task uuid, owner text, happened text, task_version integer, task_lane text)
returns void language plpgsql set search_path = '' as $$
begin
  with noted as (
    insert into holdfast.deliveries (endpoint, task_id, user_id, event, version)
    select e.id, task, owner, happened, task_version from holdfast.webhook_endpoints e where happened = any(e.events)
    returning endpoint
  )
  insert into holdfast.work as w (task_id, kind, part, provider, lane)
  select task, 'deliver', e.part, e.id, task_lane
  from noted n join holdfast.webhook_endpoints e on e.id = n.endpoint
  -- Whoever is delivering at this moment has not seen this one and must not end the step: the epoch tells them.
  on conflict (task_id, kind, part) do update set epoch = w.epoch + 1;
end
$$;

-- In the transaction that makes it happen, whoever does: what is not committed is not told, and nothing else is left out.
create or replace function holdfast.note_task_event() returns trigger language plpgsql set search_path = '' as $$
declare
  happened text;
begin
  if tg_op = 'INSERT' then
    happened := 'task.submitted';
  elsif new.status <> old.status then
    happened := case new.status when 'running' then 'task.started' when 'pending' then 'task.requeued' else 'task.' || new.status end;
  elsif new.status = 'running' and new.progress is distinct from old.progress then
    happened := 'task.progress';
  else
    return null;
  end if;
  perform holdfast.note_event(new.id, new.user_id, happened, new.version, new.lane);
  return null;
end
$$;

create or replace function holdfast.note_dead_letter() returns trigger language plpgsql set search_path = '' as $$
begin
  if new.kind <> 'deliver' then
    perform holdfast.note_event(t.id, t.user_id, 'task.dead_lettered', t.version, t.lane) from holdfast.tasks t where t.id = new.task_id;
  end if;
  return null;
end
$$;

create or replace trigger note_task_event after insert or update of status, progress on holdfast.tasks
  for each row execute function holdfast.note_task_event();
create or replace trigger note_dead_letter after insert on holdfast.dead_letters
  for each row execute function holdfast.note_dead_letter();

do $$
declare
  name text;
begin
  foreach name in array array['webhook_endpoints', 'deliveries'] loop
    execute format('alter table holdfast.%I enable row level security', name);
    execute format('revoke all on holdfast.%I from public, anon, authenticated', name);
    execute format('grant all on holdfast.%I to service_role', name);
    execute format('drop policy if exists service_does_everything on holdfast.%I', name);
    execute format('create policy service_does_everything on holdfast.%I to service_role using (true) with check (true)', name);
  end loop;
end
$$;
revoke all on function holdfast.note_event(uuid, text, text, integer, text), holdfast.note_task_event(), holdfast.note_dead_letter()
  from public, anon, authenticated;
grant execute on function holdfast.note_event(uuid, text, text, integer, text) to service_role;
-- A later migration does away with the sequence, and this file can still be run again.
do $$
begin
  if to_regclass('holdfast.webhook_endpoints_part_seq') is not null then
    grant all on sequence holdfast.webhook_endpoints_part_seq to service_role;
  end if;
end
$$;
