drop trigger if exists leave_queue on holdfast.tasks;
drop function if exists holdfast.leave_queue();
alter table holdfast.tasks drop column if exists queue_position;
