-- What a waiting task shows of the starts that did not work. `attempts` counts the creates whose outcome is known, from
-- the first release that writes it on; `failure` is only for what has failed.
alter table holdfast.tasks add column if not exists last_error text;
alter table holdfast.tasks add column if not exists next_attempt_at timestamptz;
grant select (attempts, last_error, next_attempt_at) on holdfast.tasks to authenticated;

-- Failed and cancelled tasks are few: looking for them must not walk through all that was completed. Nothing is written
-- to it for the others. By type there is no index: it would cost each generation a tenth more WAL, for a walk through
-- one user's own tasks of at most a week.
create index if not exists tasks_failed_of_a_user
  on holdfast.tasks (user_id, id desc) where status in ('failed', 'cancelled');
