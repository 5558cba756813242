-- What lists, sync and streams carry of parameters that are too long for them. Null: they carry `params` as they are.
-- Written with the row, so that no list has to read, or cut, what it does not show.
alter table holdfast.tasks add column if not exists shown_params jsonb;
alter table holdfast.messages add column if not exists shown_params jsonb;
