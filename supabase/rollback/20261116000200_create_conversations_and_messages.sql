drop table if exists holdfast.messages;
drop table if exists holdfast.conversations;
