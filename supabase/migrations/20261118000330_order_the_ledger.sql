-- The order in which entries changed their accounts. Ids are random within a millisecond, and two entries of a user may
-- share one.
create sequence if not exists holdfast.ledger_order;
grant all on sequence holdfast.ledger_order to service_role;

do $$
begin
  if exists (
    select from pg_attribute where attrelid = 'holdfast.credit_ledger'::regclass and attname = 'seq' and not attisdropped
  ) then
    return;
  end if;
  alter table holdfast.credit_ledger add column seq bigint;
  -- Nobody may change an entry, and nobody does: this gives the old ones their place.
  alter table holdfast.credit_ledger disable trigger refuse_ledger_change;
  update holdfast.credit_ledger l set seq = o.seq
    from (
      select id, row_number() over (
        order by created_at, array_position(array['grant', 'hold', 'capture', 'refund', 'adjust'], kind), id
      ) as seq
      from holdfast.credit_ledger
    ) o
    where o.id = l.id;
  alter table holdfast.credit_ledger enable trigger refuse_ledger_change;
  alter table holdfast.credit_ledger alter column seq set not null;
  perform setval('holdfast.ledger_order', (select coalesce(max(seq), 0) + 1 from holdfast.credit_ledger), false);
  alter sequence holdfast.ledger_order owned by holdfast.credit_ledger.seq;
end
$$;

-- The number is drawn under the lock of the account that the entry is about to change: the entries of one user are in
-- the order in which they were committed.
create or replace function holdfast.number_ledger_entry() returns trigger language plpgsql set search_path = '' as $$
begin
  perform from holdfast.credit_accounts where user_id = new.user_id for no key update;
  new.seq := nextval('holdfast.ledger_order');
  return new;
end
$$;
revoke all on function holdfast.number_ledger_entry() from public, anon, authenticated;

create or replace trigger number_ledger_entry before insert on holdfast.credit_ledger
  for each row execute function holdfast.number_ledger_entry();

-- Pages of a user's entries, and of all.
create index if not exists ledger_of_a_user_in_order on holdfast.credit_ledger (user_id, seq);
create index if not exists ledger_in_order on holdfast.credit_ledger (seq);
drop index if exists holdfast.ledger_of_a_user_by_id;
