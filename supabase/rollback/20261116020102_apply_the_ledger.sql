drop view if exists holdfast.credit_audit;
drop trigger if exists apply_ledger_entry on holdfast.credit_ledger;
drop function if exists holdfast.apply_ledger_entry();
create index if not exists ledger_of_a_user on holdfast.credit_ledger (user_id, created_at desc);
drop index if exists holdfast.ledger_of_a_user_by_id;

-- Adjustments did not name their task before; that they were made, and why, is kept.
alter table holdfast.credit_ledger disable trigger refuse_ledger_change;
update holdfast.credit_ledger set reason = reason || ' (task ' || task_id || ')', task_id = null
  where kind = 'adjust' and task_id is not null;
alter table holdfast.credit_ledger enable trigger refuse_ledger_change;
alter table holdfast.credit_ledger drop constraint if exists task_entries_name_their_task;
alter table holdfast.credit_ledger add constraint task_entries_name_their_task
  check ((kind in ('hold', 'capture', 'refund')) = (task_id is not null));

drop index if exists holdfast.one_end_per_hold;
drop index if exists holdfast.one_entry_per_key;
alter table holdfast.credit_ledger drop column if exists key;
