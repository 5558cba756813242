drop function if exists holdfast.count_own_tasks(text, integer, integer);
drop function if exists holdfast.next_turn(text, text, integer, text);
create index if not exists work_due on holdfast.work (kind, provider, lane, due_at);
drop index if exists holdfast.work_by_turn;
drop index if exists holdfast.work_by_due;
alter table holdfast.work drop column if exists turn;
alter table holdfast.work drop column if exists priority;
