-- What may be asked of a provider, over all replicas: a claim spends from the row it locks, so neither more processes
-- nor a change of the holder let more through.
create table if not exists holdfast.budgets (
  provider text not null,
  operation text not null,
  per_second double precision not null,
  -- How many may go at once after a pause. Small, so that requests are spread and not sent in bursts.
  burst double precision not null,
  max_in_flight integer not null,
  tokens double precision not null,
  refilled_at timestamptz not null default now(),
  -- Set when the provider says "not before".
  paused_until timestamptz,
  primary key (provider, operation),
  constraint budget_operation_is_known check (operation in ('create', 'query')),
  constraint budget_lets_something_through check (per_second > 0 and burst >= 1 and max_in_flight >= 1),
  constraint tokens_are_within_the_burst check (tokens <= burst)
) with (fillfactor = 20);

-- How many calls each replica has under way. A replica that died stops counting when its calls must have ended.
create table if not exists holdfast.budget_shares (
  provider text not null,
  operation text not null,
  replica text not null,
  in_flight integer not null,
  expires_at timestamptz not null,
  primary key (provider, operation, replica),
  foreign key (provider, operation) references holdfast.budgets on delete cascade,
  constraint in_flight_is_not_negative check (in_flight >= 0)
) with (fillfactor = 20);

-- What the other replicas have under way. A function, because it sees what is there when it is called: a claim has its
-- view of the tables from before it waited for the budget's row, and would miss what the one before it has just begun.
create or replace function holdfast.calls_of_others(of_provider text, of_operation text, own_replica text)
returns integer language sql volatile set search_path = '' as $$
  select coalesce(sum(s.in_flight), 0)::integer from holdfast.budget_shares s
  where s.provider = of_provider and s.operation = of_operation and s.replica <> own_replica
    and s.expires_at > clock_timestamp()
$$;
revoke all on function holdfast.calls_of_others(text, text, text) from public, anon, authenticated;
grant execute on function holdfast.calls_of_others(text, text, text) to service_role;

alter table holdfast.budgets enable row level security;
alter table holdfast.budget_shares enable row level security;
revoke all on holdfast.budgets, holdfast.budget_shares from public, anon, authenticated;
grant all on holdfast.budgets, holdfast.budget_shares to service_role;
drop policy if exists service_does_everything on holdfast.budgets;
create policy service_does_everything on holdfast.budgets to service_role using (true) with check (true);
drop policy if exists service_does_everything on holdfast.budget_shares;
create policy service_does_everything on holdfast.budget_shares to service_role using (true) with check (true);
