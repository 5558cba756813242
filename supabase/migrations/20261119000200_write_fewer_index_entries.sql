-- Each generation writes its task four times, and each time an entry into every index that has the row. So indexes have
-- only the rows that are looked for in them.
create index if not exists tasks_ended_changed_of_a_user
  on holdfast.tasks (user_id, changed_xid) where finished_at is not null;
drop index if exists holdfast.tasks_changed_of_a_user;

create index if not exists tasks_within_a_conversation
  on holdfast.tasks (conversation_id, id) where conversation_id is not null;
drop index if exists holdfast.tasks_of_a_conversation;

create index if not exists artifacts_within_a_message
  on holdfast.artifacts (message_id, ordinal) where message_id is not null;
drop index if exists holdfast.artifacts_of_a_message;

alter table holdfast.provider_jobs drop constraint if exists external_id_is_unique_per_provider;
create unique index if not exists external_id_is_unique_per_provider
  on holdfast.provider_jobs (external_id, provider) where external_id is not null;

-- Nothing looks for it: a key outlives its task's row.
drop index if exists holdfast.idempotency_keys_of_a_task;

-- Forgetting an endpoint deletes its deliveries.
create index if not exists deliveries_of_an_endpoint on holdfast.deliveries (endpoint);

-- Room for the next versions of a row on its page: then only what differs is written to the log.
alter table holdfast.tasks set (fillfactor = 50);
alter table holdfast.provider_jobs set (fillfactor = 60);
alter table holdfast.artifacts set (fillfactor = 70);

-- Most servers tell nobody. Theirs should not pay for it with every progress that is written.
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
  if exists (select from holdfast.webhook_endpoints e where happened = any(e.events)) then
    perform holdfast.note_event(new.id, new.user_id, happened, new.version, new.lane);
  end if;
  return null;
end
$$;
