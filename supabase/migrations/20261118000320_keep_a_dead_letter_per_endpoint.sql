-- One open letter for each step that was given up. A task has a step of telling for each endpoint, and `provider` names
-- the endpoint: without it the second endpoint that failed left no letter.
drop index if exists holdfast.one_open_dead_letter_per_step;
create unique index one_open_dead_letter_per_step
  on holdfast.dead_letters (task_id, kind, provider) where resolved_at is null;
