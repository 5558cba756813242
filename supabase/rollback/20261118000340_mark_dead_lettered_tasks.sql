alter table holdfast.tasks drop constraint if exists dead_lettered_only_when_failed;
alter table holdfast.tasks drop column if exists dead_lettered;
