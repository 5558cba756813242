drop trigger if exists note_dead_letter on holdfast.dead_letters;
drop trigger if exists note_task_event on holdfast.tasks;
drop function if exists holdfast.note_dead_letter();
drop function if exists holdfast.note_task_event();
drop function if exists holdfast.note_event(uuid, text, text, integer, text);
drop table if exists holdfast.deliveries;
drop table if exists holdfast.webhook_endpoints;
delete from holdfast.work where kind = 'deliver';
