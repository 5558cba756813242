-- How long the files of a task are kept once it has finished. Chosen when it is made, by the plan its user has then.
alter table holdfast.tasks add column if not exists keep_ms bigint not null default 259200000;
alter table holdfast.tasks drop constraint if exists files_are_kept_for_a_while;
alter table holdfast.tasks add constraint files_are_kept_for_a_while check (keep_ms > 0);

create index if not exists artifacts_by_expiry
  on holdfast.artifacts (expires_at) where state in ('remote', 'stored') and expires_at is not null;
create index if not exists tasks_by_finish on holdfast.tasks (finished_at) where finished_at is not null;

-- A key that was used stays used, although the task it made may be gone by then.
alter table holdfast.idempotency_keys drop constraint if exists idempotency_keys_task_id_fkey;

-- What is left of tasks whose rows were removed: added up by the transaction that removes them.
create table if not exists holdfast.removed_tasks_by_day (
  -- In UTC.
  day date not null,
  type text not null,
  provider text not null,
  lane text not null,
  status text not null,
  failure_code text not null default '',
  tasks bigint not null,
  -- From start to finish, of those that were started.
  started bigint not null,
  run_ms bigint not null,
  constraint removed_tasks_are_added_up primary key (day, type, provider, lane, status, failure_code),
  constraint removed_counts_are_not_negative check (tasks >= 0 and started >= 0 and run_ms >= 0)
);

alter table holdfast.removed_tasks_by_day enable row level security;
revoke all on holdfast.removed_tasks_by_day from public, anon, authenticated;
grant all on holdfast.removed_tasks_by_day to service_role;
drop policy if exists service_does_everything on holdfast.removed_tasks_by_day;
create policy service_does_everything on holdfast.removed_tasks_by_day to service_role using (true) with check (true);

-- Every finished task by the day it finished, whether its row is still there or not.
do $$
begin
  execute 'create or replace view holdfast.tasks_by_day '
    -- PostgreSQL 14 does not know it yet; there the view is only as safe as its grants, which are the service's alone.
    || case when current_setting('server_version_num')::int >= 150000 then 'with (security_invoker = true) ' else '' end
    || $view$as
      select day, type, provider, lane, status, failure_code,
        sum(tasks)::bigint as tasks, sum(started)::bigint as started, sum(run_ms)::bigint as run_ms
      from (
        select day, type, provider, lane, status, failure_code, tasks, started, run_ms from holdfast.removed_tasks_by_day
        union all
        select (finished_at at time zone 'UTC')::date, type, provider, lane, status, coalesce(failure_code, ''),
          1, (started_at is not null)::int, coalesce((extract(epoch from finished_at - started_at) * 1000)::bigint, 0)
        from holdfast.tasks where finished_at is not null
      ) every_task
      group by day, type, provider, lane, status, failure_code
    $view$;
end
$$;

revoke all on holdfast.tasks_by_day from public, anon, authenticated;
grant all on holdfast.tasks_by_day to service_role;
