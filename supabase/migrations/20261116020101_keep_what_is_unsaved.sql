-- The parts of a task's end that could not be written with it, by the names of the plugins that should have. Empty when
-- all is written; `POST /v1/tasks/:id/save` tries those again, and only those.
alter table holdfast.tasks add column if not exists unsaved text[] not null default '{}';
alter table holdfast.tasks drop constraint if exists unsaved_only_when_ended;
alter table holdfast.tasks add constraint unsaved_only_when_ended check (unsaved = '{}' or finished_at is not null);
grant select (unsaved) on holdfast.tasks to authenticated;
