-- Work that was given up: its attempts were spent, or it could not be understood. An operator retries or discards it.
create table if not exists holdfast.dead_letters (
  id uuid primary key default holdfast.new_id(),
  -- No foreign key: it may outlive the task's row.
  task_id uuid not null,
  user_id text not null,
  kind text not null,
  provider text not null,
  lane text not null,
  attempts smallint not null,
  reason text not null,
  created_at timestamptz not null default now(),
  resolved_at timestamptz,
  resolution text,
  retry_task_id uuid,
  constraint dead_letter_kind_is_known check (kind in ('submit', 'poll', 'cancel', 'mirror', 'run', 'deliver')),
  constraint resolution_is_known check (resolution in ('retried', 'discarded')),
  constraint resolved_with_a_resolution check ((resolved_at is null) = (resolution is null)),
  constraint retried_exactly_with_its_task check ((coalesce(resolution, '') = 'retried') = (retry_task_id is not null))
);

create index if not exists dead_letters_open on holdfast.dead_letters (id desc) where resolved_at is null;
create unique index if not exists one_open_dead_letter_per_step
  on holdfast.dead_letters (task_id, kind) where resolved_at is null;

alter table holdfast.dead_letters enable row level security;
revoke all on holdfast.dead_letters from public, anon, authenticated;
grant all on holdfast.dead_letters to service_role;
drop policy if exists service_does_everything on holdfast.dead_letters;
create policy service_does_everything on holdfast.dead_letters to service_role using (true) with check (true);
