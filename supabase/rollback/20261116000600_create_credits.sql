drop table if exists holdfast.credit_ledger;
drop function if exists holdfast.refuse_ledger_change();
drop table if exists holdfast.credit_accounts;
