-- How often something new was noted for a step. A process that is telling an endpoint at that moment has not seen it and
-- must not end the step. The epoch said so before, and could not say whose claim it is any more.
alter table holdfast.work add column if not exists news integer not null default 0;

create or replace function holdfast.note_event(task uuid, owner text, happened text, task_version integer, task_lane text)
returns void language plpgsql set search_path = '' as $$
begin
  with noted as (
    insert into holdfast.deliveries (endpoint, task_id, user_id, event, version)
    select e.id, task, owner, happened, task_version from holdfast.webhook_endpoints e where happened = any(e.events)
    -- One that is being forgotten at this moment is left out: the foreign key would fail the whole transaction.
    for key share
    returning endpoint
  )
  insert into holdfast.work as w (task_id, kind, part, provider, lane)
  select task, 'deliver', e.part, e.id, task_lane
  from noted n join holdfast.webhook_endpoints e on e.id = n.endpoint
  on conflict (task_id, kind, part) do update set news = w.news + 1;
end
$$;
