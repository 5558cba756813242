alter table holdfast.artifacts drop column if exists problem;
alter table holdfast.artifacts drop column if exists first_url;
drop index if exists holdfast.work_mirrors;
alter table holdfast.work drop column if exists needed_by;
