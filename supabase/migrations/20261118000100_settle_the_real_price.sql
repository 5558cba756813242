-- What a task really cost may differ from what was put aside for it. The capture ends the whole hold: what it does not
-- take comes back by the same entry, and what it takes beyond the hold comes off the balance.
alter table holdfast.credit_ledger
  -- The hold that a capture ends. Null: captured as it was held, as all were before.
  add column if not exists hold_amount bigint,
  -- What it cost beyond what could be taken. Nobody owes it; it is written down for the operator.
  add column if not exists shortfall bigint not null default 0;
alter table holdfast.credit_ledger drop constraint if exists only_captures_end_a_hold_in_part;
alter table holdfast.credit_ledger add constraint only_captures_end_a_hold_in_part
  check (kind = 'capture' or (hold_amount is null and shortfall = 0));
alter table holdfast.credit_ledger drop constraint if exists shortfall_is_not_negative;
alter table holdfast.credit_ledger add constraint shortfall_is_not_negative check (shortfall >= 0);
grant select (hold_amount) on holdfast.credit_ledger to authenticated;

alter table holdfast.tasks
  -- What it has cost so far, less what was given back. Written by the ledger alone.
  add column if not exists credits_spent bigint not null default 0,
  -- What was put aside or spent and came back. Written by the ledger alone.
  add column if not exists credits_returned bigint not null default 0,
  -- What the provider says it took. For the price and for the operator, not for users.
  add column if not exists usage jsonb,
  -- What its user paid for when it was submitted: a retry by somebody else keeps it.
  add column if not exists plan text;
alter table holdfast.tasks drop constraint if exists credits_of_a_task_are_not_negative;
alter table holdfast.tasks add constraint credits_of_a_task_are_not_negative
  check (credits_spent >= 0 and credits_returned >= 0);
alter table holdfast.tasks drop constraint if exists usage_is_an_object;
alter table holdfast.tasks add constraint usage_is_an_object check (jsonb_typeof(usage) = 'object');
grant select (credits_held, credits_spent, credits_returned) on holdfast.tasks to authenticated;

-- An account is what its ledger adds up to, and so is what a task shows of its credits: the ledger is the only thing that
-- changes either. The account's row lock makes entries of one user wait for each other; a balance below zero is refused
-- by the account itself. Whoever writes an entry about a task has locked the task before: tasks come before accounts.
create or replace function holdfast.apply_ledger_entry() returns trigger language plpgsql set search_path = '' as $$
declare
  -- The hold that ends with this entry.
  hold bigint := case new.kind when 'capture' then coalesce(new.hold_amount, new.amount) when 'refund' then new.amount else 0 end;
begin
  if new.kind in ('capture', 'refund') and not exists (
    select from holdfast.credit_ledger h
    where h.task_id = new.task_id and h.kind = 'hold' and h.user_id = new.user_id and h.amount = hold
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
    balance = balance + case new.kind when 'hold' then -new.amount when 'capture' then hold - new.amount else new.amount end,
    held = held + case new.kind when 'hold' then new.amount else -hold end,
    updated_at = now()
  where user_id = new.user_id;

  if new.task_id is not null then
    update holdfast.tasks set
      credits_held = case new.kind when 'hold' then new.amount else credits_held end,
      credits_spent = credits_spent + case new.kind when 'capture' then new.amount when 'adjust' then -new.amount else 0 end,
      credits_returned = credits_returned
        + case new.kind when 'capture' then greatest(hold - new.amount, 0) when 'refund' then new.amount when 'adjust' then new.amount else 0 end
    where id = new.task_id;
  end if;
  return null;
end
$$;

-- For people who look into what happened to whose credits: the same columns as before.
do $$
begin
  execute 'create or replace view holdfast.credit_audit '
    -- PostgreSQL 14 does not know it yet; there the view is only as safe as its grants, which are the service's alone.
    || case when current_setting('server_version_num')::int >= 150000 then 'with (security_invoker = true) ' else '' end
    || $view$as
      select l.id, l.user_id, l.task_id, l.kind, l.amount,
        case l.kind when 'hold' then -l.amount when 'capture' then coalesce(l.hold_amount, l.amount) - l.amount else l.amount end as balance_change,
        case l.kind when 'hold' then l.amount when 'capture' then -coalesce(l.hold_amount, l.amount) when 'refund' then -l.amount else 0 end as held_change,
        l.reason, l.actor, l.key, t.type as task_type, t.status as task_status, l.created_at
      from holdfast.credit_ledger l left join holdfast.tasks t on t.id = l.task_id
    $view$;
end
$$;

-- What the ledger says of tasks from before.
update holdfast.tasks t set credits_spent = l.spent, credits_returned = l.returned
from (
  select task_id,
    sum(case kind when 'capture' then amount when 'adjust' then -amount else 0 end) as spent,
    sum(case kind when 'capture' then greatest(coalesce(hold_amount, amount) - amount, 0) else amount end) as returned
  from holdfast.credit_ledger where task_id is not null and kind <> 'hold' group by task_id
) l
where l.task_id = t.id and (t.credits_spent, t.credits_returned) is distinct from (l.spent::bigint, l.returned::bigint);
