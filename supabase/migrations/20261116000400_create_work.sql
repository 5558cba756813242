-- What is to be done next: one narrow row per pending step, deleted when the step is done.
-- due_at is the only indexed column that changes.
create table if not exists holdfast.work (
  id bigint generated always as identity primary key,
  task_id uuid not null references holdfast.tasks on delete cascade,
  kind text not null,
  provider text not null,
  lane text not null default 'free_default',
  due_at timestamptz not null default now(),
  -- Raised by every claim: whoever holds an older one may not write any more.
  epoch integer not null default 0,
  attempts smallint not null default 0,
  polls integer not null default 0,
  constraint work_kind_is_known check (kind in ('submit', 'poll', 'cancel', 'mirror', 'run', 'deliver')),
  constraint work_lane_is_known check (lane in ('enterprise_exclusive', 'vip_short', 'vip_long', 'free_default')),
  constraint work_counts_are_not_negative check (epoch >= 0 and attempts >= 0 and polls >= 0)
) with (
  fillfactor = 60,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0
);

create index if not exists work_due on holdfast.work (kind, provider, lane, due_at);
create unique index if not exists one_step_of_a_kind_per_task
  on holdfast.work (task_id, kind) where kind in ('submit', 'poll', 'cancel');
create index if not exists work_of_a_task on holdfast.work (task_id);
