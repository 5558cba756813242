drop view if exists holdfast.credit_audit;
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

-- Accounts keep what they have. What the entries did not say before is kept in words.
alter table holdfast.credit_ledger disable trigger refuse_ledger_change;
update holdfast.credit_ledger set reason = reason || ' (of a hold of ' || hold_amount || ')'
  where hold_amount is not null and hold_amount <> amount;
alter table holdfast.credit_ledger enable trigger refuse_ledger_change;
alter table holdfast.credit_ledger drop column if exists hold_amount, drop column if exists shortfall;

do $$
begin
  execute 'create or replace view holdfast.credit_audit '
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

revoke select (credits_held) on holdfast.tasks from authenticated;
alter table holdfast.tasks
  drop column if exists credits_spent, drop column if exists credits_returned,
  drop column if exists usage, drop column if exists plan;
