-- How many are ahead of a running task at its provider, where that says so; null otherwise. It is in the row, not only
-- in the hot store, because it may go up as well as down: clients take a state over if its version is higher, and only
-- a write raises that.
alter table holdfast.tasks add column if not exists queue_position int
  constraint queue_position_is_not_negative check (queue_position >= 0);
grant select (queue_position) on holdfast.tasks to authenticated;

-- Whichever statement ends a task, or puts it back: what is not running waits for nobody.
create or replace function holdfast.leave_queue() returns trigger language plpgsql set search_path = '' as $$
begin
  new.queue_position := null;
  return new;
end
$$;

revoke all on function holdfast.leave_queue() from public, anon, authenticated;

create or replace trigger leave_queue before update of status on holdfast.tasks
  for each row when (new.status <> 'running' and new.queue_position is not null) execute function holdfast.leave_queue();
