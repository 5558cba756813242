-- What sync and streams need to tell of conversations what they tell of tasks. A constant default rewrites no table. Rows
-- from before get 0: they have not changed since any cursor, and a first answer finds them by other indexes.
alter table holdfast.conversations add column if not exists version integer not null default 1;
-- Which transaction wrote the row last: the cursor of sync and stream (see docs/ARCHITECTURE.md).
alter table holdfast.conversations add column if not exists changed_xid xid8 not null default '0';

create or replace function holdfast.stamp_conversation() returns trigger language plpgsql set search_path = '' as $$
begin
  if tg_op = 'UPDATE' then
    new.version := old.version + 1;
    new.updated_at := now();
  else
    new.version := 1;
  end if;
  new.changed_xid := pg_current_xact_id();
  return new;
end
$$;
revoke all on function holdfast.stamp_conversation() from public, anon, authenticated;

create or replace trigger stamp_conversation before insert or update on holdfast.conversations
  for each row execute function holdfast.stamp_conversation();

-- Without the rows from before, so that making it sorts nothing, however many there are.
create index if not exists conversations_changed_of_a_user
  on holdfast.conversations (user_id, changed_xid) where changed_xid > '0';

-- Column by column: the transaction is of no use to users.
revoke select on holdfast.conversations from authenticated;
grant select (id, user_id, title, unread_count, last_message_at, created_at, updated_at, version)
  on holdfast.conversations to authenticated;
