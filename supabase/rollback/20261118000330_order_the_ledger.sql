create index if not exists ledger_of_a_user_by_id on holdfast.credit_ledger (user_id, id);
drop trigger if exists number_ledger_entry on holdfast.credit_ledger;
drop function if exists holdfast.number_ledger_entry();
drop index if exists holdfast.ledger_of_a_user_in_order;
drop index if exists holdfast.ledger_in_order;
-- The sequence goes with its column.
alter table holdfast.credit_ledger drop column if exists seq;
drop sequence if exists holdfast.ledger_order;
