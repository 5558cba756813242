-- How long each type takes at each provider (a decayed histogram), and the polling plan computed from it: the claim
-- looks the next interval up here, by the task's age.
create table if not exists holdfast.poll_plans (
  provider text not null,
  type text not null,
  histogram double precision[] not null default '{}',
  -- intervals_ms[i] holds from ages_ms[i] on.
  ages_ms double precision[] not null default '{}',
  intervals_ms double precision[] not null default '{}',
  -- Intervals vary between these parts of themselves, such as −0.05 to 0.05.
  jitter_from double precision not null default 0,
  jitter_to double precision not null default 0.2,
  planned_at timestamptz not null default now(),
  primary key (provider, type),
  constraint plan_has_an_interval_for_each_age check (cardinality(ages_ms) = cardinality(intervals_ms))
);

alter table holdfast.poll_plans enable row level security;
revoke all on holdfast.poll_plans from public, anon, authenticated;
grant all on holdfast.poll_plans to service_role;
drop policy if exists service_does_everything on holdfast.poll_plans;
create policy service_does_everything on holdfast.poll_plans to service_role using (true) with check (true);
