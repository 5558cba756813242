drop index if exists holdfast.tasks_failed_of_a_user;
revoke select (attempts) on holdfast.tasks from authenticated;
alter table holdfast.tasks drop column if exists next_attempt_at;
alter table holdfast.tasks drop column if exists last_error;
