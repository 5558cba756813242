drop function if exists holdfast.count_own_tasks(text, integer, integer);
create index if not exists work_due on holdfast.work (kind, provider, lane, due_at);
drop index if exists holdfast.work_by_turn;
drop index if exists holdfast.work_by_due;
alter table holdfast.work drop column if exists turn;
alter table holdfast.work drop column if exists priority;
create index if not exists work_mirrors on holdfast.work (needed_by, due_at) where kind = 'mirror';
drop index if exists holdfast.work_copies;
alter table holdfast.work drop constraint if exists work_kind_is_known;
update holdfast.work set kind = case kind when 'send' then 'submit' else 'mirror' end where kind in ('send', 'copy');
alter table holdfast.work add constraint work_kind_is_known
  check (kind in ('submit', 'poll', 'cancel', 'mirror', 'run', 'deliver'));
alter table holdfast.dead_letters drop constraint if exists dead_letter_kind_is_known;
update holdfast.dead_letters set kind = case kind when 'send' then 'submit' else 'mirror' end where kind in ('send', 'copy');
alter table holdfast.dead_letters add constraint dead_letter_kind_is_known
  check (kind in ('submit', 'poll', 'cancel', 'mirror', 'run', 'deliver'));
