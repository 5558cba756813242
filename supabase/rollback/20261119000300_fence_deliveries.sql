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
alter table holdfast.work drop column if exists news;
