drop view if exists holdfast.tasks_by_day;
drop table if exists holdfast.removed_tasks_by_day;
delete from holdfast.idempotency_keys k where not exists (select from holdfast.tasks t where t.id = k.task_id);
alter table holdfast.idempotency_keys drop constraint if exists idempotency_keys_task_id_fkey;
alter table holdfast.idempotency_keys
  add constraint idempotency_keys_task_id_fkey foreign key (task_id) references holdfast.tasks on delete cascade;
drop index if exists holdfast.tasks_by_finish;
drop index if exists holdfast.artifacts_by_expiry;
alter table holdfast.tasks drop constraint if exists files_are_kept_for_a_while;
alter table holdfast.tasks drop column if exists keep_ms;
