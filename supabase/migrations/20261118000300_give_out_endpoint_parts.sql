-- A part is given out once, when an endpoint is registered for the first time: the smallest that is free. A sequence
-- gave one to every repetition as well, and after 32,768 of them no endpoint could be registered any more.
alter table holdfast.webhook_endpoints alter column part drop identity if exists;
alter table holdfast.webhook_endpoints drop constraint if exists endpoint_has_a_part_of_its_own;
alter table holdfast.webhook_endpoints add constraint endpoint_has_a_part_of_its_own unique (part);

-- How long servers have been running without naming it, and until when that was added up. The time in which no server
-- runs does not count: nobody could have named it.
alter table holdfast.webhook_endpoints add column if not exists absent_for interval not null default '0';
alter table holdfast.webhook_endpoints add column if not exists absent_checked_at timestamptz;

create or replace function holdfast.register_endpoint(endpoint text, wanted text[])
returns void language plpgsql set search_path = '' as $$
begin
  update holdfast.webhook_endpoints
    set events = wanted, seen_at = now(), absent_for = '0', absent_checked_at = null
    where id = endpoint;
  -- Two replicas may want the same part, or register the same endpoint. The unique keys let one of them through, and
  -- the other looks again.
  while not found loop
    insert into holdfast.webhook_endpoints (id, part, events)
    select endpoint, (
      select min(n) from generate_series(0, 32767) n
      where not exists (select from holdfast.webhook_endpoints e where e.part = n)
    ), wanted
    on conflict do nothing;
    perform from holdfast.webhook_endpoints where id = endpoint;
  end loop;
end
$$;

-- Takes an endpoint away, with all that was still to be told to it. One that a server names is registered again within
-- minutes, and told what happens from then on.
create or replace function holdfast.forget_endpoint(endpoint text)
returns boolean language plpgsql set search_path = '' as $$
begin
  -- Waits for everybody who is noting an event for it; what they noted goes with it.
  delete from holdfast.webhook_endpoints where id = endpoint;
  if not found then
    return false;
  end if;
  -- A statement of its own: it sees what those had written for whom the one before waited.
  delete from holdfast.work where kind = 'deliver' and provider = endpoint;
  update holdfast.dead_letters set resolved_at = now(), resolution = 'discarded'
    where kind = 'deliver' and provider = endpoint and resolved_at is null;
  return true;
end
$$;

-- As before, but each endpoint is locked before anything is noted for it: one that is being forgotten at this moment is
-- left out, where the foreign key would have failed the whole transaction.
create or replace function holdfast.note_event(task uuid, owner text, happened text, task_version integer, task_lane text)
returns void language plpgsql set search_path = '' as $$
begin
  with noted as (
    insert into holdfast.deliveries (endpoint, task_id, user_id, event, version)
    select e.id, task, owner, happened, task_version from holdfast.webhook_endpoints e where happened = any(e.events)
    for key share
    returning endpoint
  )
  insert into holdfast.work as w (task_id, kind, part, provider, lane)
  select task, 'deliver', e.part, e.id, task_lane
  from noted n join holdfast.webhook_endpoints e on e.id = n.endpoint
  -- Whoever is delivering at this moment has not seen this one and must not end the step: the epoch tells them.
  on conflict (task_id, kind, part) do update set epoch = w.epoch + 1;
end
$$;

revoke all on function holdfast.register_endpoint(text, text[]), holdfast.forget_endpoint(text) from public, anon, authenticated;
grant execute on function holdfast.register_endpoint(text, text[]), holdfast.forget_endpoint(text) to service_role;
