-- What is to be done next: one narrow row per pending step, deleted when the step is done.
-- due_at is the only indexed column that changes, and every write puts an entry into each index: so there are two.
create table if not exists holdfast.work (
  -- Never reused: tells a step from a later one of the same task and kind. Found by the key below, so not indexed.
  id bigint generated always as identity,
  task_id uuid not null references holdfast.tasks on delete cascade,
  kind text not null,
  -- Which of several of a kind: the ordinal of a file that is mirrored.
  part smallint not null default 0,
  provider text not null,
  lane text not null default 'free_default',
  due_at timestamptz not null default now(),
  -- Raised by every claim: whoever holds an older one may not write any more.
  epoch integer not null default 0,
  attempts smallint not null default 0,
  polls integer not null default 0,
  -- Since when no poll has told us anything; null while they do.
  silent_since timestamptz,
  constraint one_step_of_a_kind_per_task primary key (task_id, kind, part),
  constraint work_kind_is_known check (kind in ('submit', 'poll', 'cancel', 'mirror', 'run', 'deliver')),
  constraint work_lane_is_known check (lane in ('enterprise_exclusive', 'vip_short', 'vip_long', 'free_default')),
  constraint work_counts_are_not_negative check (epoch >= 0 and attempts >= 0 and polls >= 0)
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0
);

create index if not exists work_due on holdfast.work (kind, provider, lane, due_at);
-- Only the silent ones are in it, so that it costs the others nothing.
create index if not exists work_silent on holdfast.work (silent_since) where silent_since is not null;
