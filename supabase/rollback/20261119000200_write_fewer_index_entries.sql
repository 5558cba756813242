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
alter table holdfast.artifacts reset (fillfactor);
alter table holdfast.provider_jobs reset (fillfactor);
alter table holdfast.tasks reset (fillfactor);
drop index if exists holdfast.deliveries_of_an_endpoint;
create index if not exists idempotency_keys_of_a_task on holdfast.idempotency_keys (task_id);
drop index if exists holdfast.external_id_is_unique_per_provider;
alter table holdfast.provider_jobs add constraint external_id_is_unique_per_provider unique (external_id, provider);
create index if not exists artifacts_of_a_message on holdfast.artifacts (message_id, ordinal);
drop index if exists holdfast.artifacts_within_a_message;
create index if not exists tasks_of_a_conversation on holdfast.tasks (conversation_id, id);
drop index if exists holdfast.tasks_within_a_conversation;
create index if not exists tasks_changed_of_a_user on holdfast.tasks (user_id, changed_xid);
drop index if exists holdfast.tasks_ended_changed_of_a_user;
