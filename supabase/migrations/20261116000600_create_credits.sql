create table if not exists holdfast.credit_accounts (
  user_id text primary key,
  -- What can be spent now; holds are already taken off.
  balance bigint not null default 0,
  held bigint not null default 0,
  updated_at timestamptz not null default now(),
  constraint account_has_a_user check (user_id <> ''),
  constraint balance_is_not_negative check (balance >= 0),
  constraint held_is_not_negative check (held >= 0)
);

-- Every change of an account, for ever: rows are never changed or removed, and outlive their task.
create table if not exists holdfast.credit_ledger (
  id uuid primary key default holdfast.new_id(),
  user_id text not null references holdfast.credit_accounts,
  -- No foreign key: the ledger outlives the task's row.
  task_id uuid,
  kind text not null,
  amount bigint not null,
  reason text not null default '',
  actor text not null default 'system',
  created_at timestamptz not null default now(),
  constraint one_entry_per_task_and_kind unique (task_id, kind),
  constraint ledger_kind_is_known check (kind in ('grant', 'hold', 'capture', 'refund', 'adjust')),
  constraint task_entries_name_their_task check ((kind in ('hold', 'capture', 'refund')) = (task_id is not null)),
  constraint amount_is_not_negative_unless_adjusting check (amount >= 0 or kind = 'adjust'),
  constraint adjustments_have_a_reason check (kind <> 'adjust' or reason <> '')
);

create index if not exists ledger_of_a_user on holdfast.credit_ledger (user_id, created_at desc);

create or replace function holdfast.refuse_ledger_change() returns trigger language plpgsql set search_path = '' as $$
begin
  raise exception 'the ledger is only ever added to'
    using errcode = 'check_violation', constraint = 'ledger_is_append_only';
end
$$;

create or replace trigger refuse_ledger_change before update or delete on holdfast.credit_ledger
  for each row execute function holdfast.refuse_ledger_change();
create or replace trigger refuse_ledger_truncate before truncate on holdfast.credit_ledger
  for each statement execute function holdfast.refuse_ledger_change();
