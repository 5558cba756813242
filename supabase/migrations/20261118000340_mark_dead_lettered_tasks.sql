-- Whether the task failed because its attempts were spent, and left a dead letter: streams and lists say so.
alter table holdfast.tasks add column if not exists dead_lettered boolean not null default false;
alter table holdfast.tasks drop constraint if exists dead_lettered_only_when_failed;
alter table holdfast.tasks add constraint dead_lettered_only_when_failed check (not dead_lettered or status = 'failed');
grant select (dead_lettered) on holdfast.tasks to authenticated;
