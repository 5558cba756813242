drop index if exists holdfast.deliveries_of_a_task;
create index deliveries_of_a_task on holdfast.deliveries (task_id, endpoint, id);
alter table holdfast.deliveries drop column if exists seq;
