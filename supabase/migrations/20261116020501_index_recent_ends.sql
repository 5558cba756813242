-- What ended lately, for a device that comes back: found without walking through all that its user ever made.
create index if not exists tasks_ended_of_a_user
  on holdfast.tasks (user_id, finished_at desc) where finished_at is not null;
