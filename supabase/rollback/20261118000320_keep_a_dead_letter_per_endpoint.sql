-- There can only be one again: the newest of several stays.
update holdfast.dead_letters d set resolved_at = now(), resolution = 'discarded'
where d.resolved_at is null and exists (
  select from holdfast.dead_letters newer
  where newer.task_id = d.task_id and newer.kind = d.kind and newer.resolved_at is null
    and (newer.created_at, newer.id) > (d.created_at, d.id)
);
drop index if exists holdfast.one_open_dead_letter_per_step;
create unique index one_open_dead_letter_per_step on holdfast.dead_letters (task_id, kind) where resolved_at is null;
