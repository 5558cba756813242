drop table if exists holdfast.provider_jobs;
drop function if exists holdfast.guard_external_id();
drop table if exists holdfast.tasks;
drop function if exists holdfast.guard_task_update();
drop function if exists holdfast.guard_task_insert();
