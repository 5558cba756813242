alter table holdfast.tasks drop column if exists unsaved;
