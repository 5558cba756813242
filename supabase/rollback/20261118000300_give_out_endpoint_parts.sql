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
drop function if exists holdfast.forget_endpoint(text);
drop function if exists holdfast.register_endpoint(text, text[]);
alter table holdfast.webhook_endpoints drop column if exists absent_checked_at;
alter table holdfast.webhook_endpoints drop column if exists absent_for;
alter table holdfast.webhook_endpoints drop constraint if exists endpoint_has_a_part_of_its_own;
do $$
begin
  if to_regclass('holdfast.webhook_endpoints_part_seq') is null then
    alter table holdfast.webhook_endpoints alter column part add generated always as identity (minvalue 0);
    perform setval('holdfast.webhook_endpoints_part_seq', (select coalesce(max(part), -1) + 1 from holdfast.webhook_endpoints), false);
  end if;
end
$$;
grant all on sequence holdfast.webhook_endpoints_part_seq to service_role;
