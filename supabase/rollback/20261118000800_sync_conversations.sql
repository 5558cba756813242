drop index if exists holdfast.conversations_changed_of_a_user;
drop trigger if exists stamp_conversation on holdfast.conversations;
drop function if exists holdfast.stamp_conversation();
revoke select on holdfast.conversations from authenticated;
alter table holdfast.conversations drop column if exists changed_xid;
alter table holdfast.conversations drop column if exists version;
grant select on holdfast.conversations to authenticated;
