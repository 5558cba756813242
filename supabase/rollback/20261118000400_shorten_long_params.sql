alter table if exists holdfast.messages drop column if exists shown_params;
alter table if exists holdfast.tasks drop column if exists shown_params;
