-- Users submit, we send, vendors accept; results are copied. The kinds of work say so.
alter table holdfast.work drop constraint if exists work_kind_is_known;
update holdfast.work set kind = case kind when 'submit' then 'send' else 'copy' end where kind in ('submit', 'mirror');
alter table holdfast.work add constraint work_kind_is_known
  check (kind in ('send', 'poll', 'cancel', 'copy', 'deliver', 'run', 'stream'));
alter table holdfast.dead_letters drop constraint if exists dead_letter_kind_is_known;
update holdfast.dead_letters set kind = case kind when 'submit' then 'send' else 'copy' end where kind in ('submit', 'mirror');
alter table holdfast.dead_letters add constraint dead_letter_kind_is_known
  check (kind in ('send', 'poll', 'cancel', 'copy', 'deliver', 'run', 'stream'));
create index if not exists work_copies on holdfast.work (needed_by, due_at) where kind = 'copy';
drop index if exists holdfast.work_mirrors;

-- Sends are claimed by priority, then by turn: a user's first task goes next, their thousandth after everyone's first.
-- Taken once, when the task is made: the lowest turn that waits in its queue, plus the user's own tasks that wait there.
alter table holdfast.work add column if not exists priority smallint not null default 5;
alter table holdfast.work add column if not exists turn bigint not null default 0;
update holdfast.work w set priority = t.priority
  from holdfast.tasks t where t.id = w.task_id and w.kind = 'send' and w.priority <> t.priority;

-- One index by due time for what is polled, one by turn for what is sent. What is not due is passed over inside it.
create index if not exists work_by_due on holdfast.work (kind, provider, lane, due_at)
  where kind in ('poll', 'cancel', 'deliver');
create index if not exists work_by_turn on holdfast.work (kind, provider, lane, priority desc, turn, id, due_at)
  where kind in ('send', 'run');
drop index if exists holdfast.work_due;

-- How many tasks a user has made in the last minute, and has unfinished; each counted no further than its limit. Without
-- those that other tasks made. Requests of one user take turns by a lock, or two at once would both see room for one.
-- Nothing is returned where another transaction has that lock: a statement for many users must not wait for one.
-- Volatile, so that the counts see what was committed before the lock was had.
create or replace function holdfast.count_own_tasks(of_user text, most_recent integer, most_unfinished integer)
returns table (recent integer, unfinished integer) language plpgsql volatile set search_path = '' as $$
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast:user:' || of_user, 0)) then
    return;
  end if;
  return query select
    (
      -- Ids begin with the time in milliseconds, so the last minute is a range of the index on (user_id, id).
      select count(*)::integer from (
        select from holdfast.tasks t
        where t.user_id = of_user and t.parent_id is null
          and t.id >= (lpad(to_hex((extract(epoch from now() - interval '1 min') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
        limit most_recent
      ) made
    ),
    (
      select count(*)::integer from (
        select from holdfast.tasks t
        where t.user_id = of_user and t.status in ('pending', 'running') and t.parent_id is null
        limit most_unfinished
      ) own
    );
end
$$;

revoke all on function holdfast.count_own_tasks(text, integer, integer)
  from public, anon, authenticated;
grant execute on function holdfast.count_own_tasks(text, integer, integer)
  to service_role;
