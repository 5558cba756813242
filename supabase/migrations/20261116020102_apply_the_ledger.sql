-- What an entry is known by to whoever asks for it twice.
alter table holdfast.credit_ledger add column if not exists key text;
alter table holdfast.credit_ledger drop constraint if exists ledger_key_has_a_sane_length;
alter table holdfast.credit_ledger add constraint ledger_key_has_a_sane_length check (char_length(key) between 1 and 300);
create unique index if not exists one_entry_per_key on holdfast.credit_ledger (key, user_id) where key is not null;

-- A hold ends once: spent or given back, never both.
create unique index if not exists one_end_per_hold on holdfast.credit_ledger (task_id) where kind in ('capture', 'refund');

-- What an administrator gives back after it was spent is an adjustment that names its task, at most one per task.
alter table holdfast.credit_ledger drop constraint if exists task_entries_name_their_task;
alter table holdfast.credit_ledger add constraint task_entries_name_their_task check (
  case kind when 'grant' then task_id is null when 'adjust' then true else task_id is not null end
);

-- Pages of a user's entries go by id, which is in the order of time.
create index if not exists ledger_of_a_user_by_id on holdfast.credit_ledger (user_id, id);
drop index if exists holdfast.ledger_of_a_user;

-- An account is what its ledger adds up to, because the ledger is the only thing that changes it. The row lock that
-- this takes makes entries of one user wait for each other; a balance below zero is refused by the account itself.
create or replace function holdfast.apply_ledger_entry() returns trigger language plpgsql set search_path = '' as $$
begin
  if new.kind in ('capture', 'refund') and not exists (
    select from holdfast.credit_ledger h
    where h.task_id = new.task_id and h.kind = 'hold' and h.user_id = new.user_id and h.amount = new.amount
  ) then
    raise exception 'a % ends a hold of the same user and amount', new.kind
      using errcode = 'check_violation', constraint = 'a_hold_ends_whole';
  end if;
  if new.kind = 'adjust' and new.task_id is not null and not exists (
    select from holdfast.credit_ledger c
    where c.task_id = new.task_id and c.kind = 'capture' and c.user_id = new.user_id and c.amount = new.amount
  ) then
    raise exception 'only what was captured for a task is given back'
      using errcode = 'check_violation', constraint = 'only_what_was_captured_is_given_back';
  end if;

  update holdfast.credit_accounts set
    balance = balance + case new.kind when 'hold' then -new.amount when 'capture' then 0 else new.amount end,
    held = held + case new.kind when 'hold' then new.amount when 'capture' then -new.amount when 'refund' then -new.amount else 0 end,
    updated_at = now()
  where user_id = new.user_id;
  return null;
end
$$;
revoke all on function holdfast.apply_ledger_entry() from public, anon, authenticated;

create or replace trigger apply_ledger_entry after insert on holdfast.credit_ledger
  for each row execute function holdfast.apply_ledger_entry();

-- For people who look into what happened to whose credits. Nothing in it is for users.
do $$
begin
  execute 'create or replace view holdfast.credit_audit '
    -- PostgreSQL 14 does not know it yet; there the view is only as safe as its grants, which are the service's alone.
    || case when current_setting('server_version_num')::int >= 150000 then 'with (security_invoker = true) ' else '' end
    || $view$as
      select l.id, l.user_id, l.task_id, l.kind, l.amount,
        case l.kind when 'hold' then -l.amount when 'capture' then 0 else l.amount end as balance_change,
        case l.kind when 'hold' then l.amount when 'capture' then -l.amount when 'refund' then -l.amount else 0 end as held_change,
        l.reason, l.actor, l.key, t.type as task_type, t.status as task_status, l.created_at
      from holdfast.credit_ledger l left join holdfast.tasks t on t.id = l.task_id
    $view$;
end
$$;
revoke all on holdfast.credit_audit from public, anon, authenticated;
grant all on holdfast.credit_audit to service_role;
