-- What users see of a task. Wide, and written only when something changed.
create table if not exists holdfast.tasks (
  id uuid primary key default holdfast.new_id(),
  user_id text not null,
  type text not null,
  provider text not null,
  status text not null default 'pending',
  progress smallint,
  params jsonb not null default '{}',
  metadata jsonb not null default '{}',
  failure_code text,
  failure_message text,
  failure_retryable boolean,
  conversation_id uuid references holdfast.conversations on delete set null,
  placeholder_id text,
  -- No foreign key: the message outlives this row, and is written in the same transaction.
  message_id uuid,
  parent_id uuid references holdfast.tasks on delete set null,
  retry_of uuid references holdfast.tasks on delete set null,
  lane text not null default 'free_default',
  priority smallint not null default 5,
  attempts smallint not null default 0,
  max_attempts smallint not null default 3,
  -- Instead of what its type allows.
  timeout_ms integer,
  poll_count integer not null default 0,
  last_polled_at timestamptz,
  credits_held bigint not null default 0,
  estimated_at timestamptz,
  deadline_at timestamptz,
  expires_at timestamptz,
  version integer not null default 1,
  -- Which transaction wrote the row last: the cursor of sync and stream (see docs/ARCHITECTURE.md).
  changed_xid xid8 not null default pg_current_xact_id(),
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  updated_at timestamptz not null default now(),

  constraint task_has_a_user check (user_id <> ''),
  constraint task_status_is_known check (status in ('pending', 'running', 'completed', 'failed', 'cancelled')),
  constraint task_lane_is_known check (lane in ('enterprise_exclusive', 'vip_short', 'vip_long', 'free_default')),
  constraint task_priority_is_in_range check (priority between 1 and 20),
  constraint progress_is_a_percentage check (progress between 0 and 100),
  constraint params_is_an_object check (jsonb_typeof(params) = 'object'),
  constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
  constraint finished_exactly_when_terminal
    check ((finished_at is not null) = (status in ('completed', 'failed', 'cancelled'))),
  constraint started_when_running_or_completed check (status not in ('running', 'completed') or started_at is not null),
  constraint not_started_while_pending check (status <> 'pending' or started_at is null),
  constraint failure_exactly_when_failed check (
    case when status = 'failed'
      then failure_code is not null and failure_message is not null and failure_retryable is not null
      else failure_code is null and failure_message is null and failure_retryable is null
    end
  ),
  constraint message_only_when_completed check (message_id is null or status = 'completed'),
  constraint started_is_not_before_created check (started_at >= created_at),
  constraint finished_is_not_before_started check (finished_at >= coalesce(started_at, created_at)),
  constraint deadline_is_after_start check (deadline_at > coalesce(started_at, created_at)),
  constraint attempts_is_not_negative check (attempts >= 0 and max_attempts >= 1),
  constraint timeout_is_positive check (timeout_ms > 0),
  constraint credits_held_is_not_negative check (credits_held >= 0),
  constraint a_task_does_not_repeat_itself check (retry_of <> id and parent_id <> id)
);

create index if not exists tasks_active_of_a_user
  on holdfast.tasks (user_id, id) where status in ('pending', 'running');
create index if not exists tasks_of_a_user on holdfast.tasks (user_id, id desc);
create index if not exists tasks_changed_of_a_user on holdfast.tasks (user_id, changed_xid);
create index if not exists tasks_of_a_conversation on holdfast.tasks (conversation_id, id);
create index if not exists tasks_running_by_deadline on holdfast.tasks (deadline_at) where status = 'running';
create index if not exists tasks_pending_by_age on holdfast.tasks (type, created_at) where status = 'pending';
create index if not exists tasks_that_repeat_a_task on holdfast.tasks (retry_of) where retry_of is not null;
create index if not exists tasks_below_a_task on holdfast.tasks (parent_id) where parent_id is not null;

create or replace function holdfast.guard_task_insert() returns trigger language plpgsql set search_path = '' as $$
begin
  if new.status <> 'pending' then
    raise exception 'a task starts as pending, not as %', new.status
      using errcode = 'check_violation', constraint = 'task_starts_pending';
  end if;
  new.version := 1;
  new.changed_xid := pg_current_xact_id();
  return new;
end
$$;

-- F9, in the database itself. Whoever writes, a terminal task stays as it ended, nothing skips `running`, and only
-- a write raises the version, by one.
create or replace function holdfast.guard_task_update() returns trigger language plpgsql set search_path = '' as $$
begin
  if new.status <> old.status and not (
    (old.status = 'pending' and new.status in ('running', 'failed', 'cancelled'))
    or (old.status = 'running' and new.status in ('completed', 'failed', 'cancelled'))
    or (old.status = 'running' and new.status = 'pending' and new.attempts > old.attempts)
  ) then
    raise exception 'a task does not go from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'task_status_transition_is_allowed';
  end if;

  if (new.id, new.user_id, new.type, new.params, new.created_at)
    is distinct from (old.id, old.user_id, old.type, old.params, old.created_at) then
    raise exception 'who asked for a task, and what for, does not change'
      using errcode = 'check_violation', constraint = 'task_identity_is_immutable';
  end if;

  if old.status in ('completed', 'failed', 'cancelled')
    and (new.progress, new.failure_code, new.failure_message, new.failure_retryable, new.started_at, new.finished_at, new.attempts)
      is distinct from (old.progress, old.failure_code, old.failure_message, old.failure_retryable, old.started_at, old.finished_at, old.attempts) then
    raise exception 'a task that has ended does not change its outcome'
      using errcode = 'check_violation', constraint = 'task_outcome_is_final';
  end if;

  if old.message_id is not null and new.message_id is distinct from old.message_id then
    raise exception 'a task has one message'
      using errcode = 'check_violation', constraint = 'task_message_is_written_once';
  end if;

  new.version := old.version + 1;
  new.changed_xid := pg_current_xact_id();
  new.updated_at := now();
  return new;
end
$$;

create or replace trigger guard_task_insert before insert on holdfast.tasks
  for each row execute function holdfast.guard_task_insert();
create or replace trigger guard_task_update before update on holdfast.tasks
  for each row execute function holdfast.guard_task_update();

-- What is between us and the provider. Granted to no one.
create table if not exists holdfast.provider_jobs (
  task_id uuid primary key references holdfast.tasks on delete cascade,
  provider text not null,
  -- Set just before the create is sent. From then on it is never sent again, only reconciled.
  sending_at timestamptz,
  external_id text,
  accepted_at timestamptz,
  last_error text,
  -- The trace id of the request that asked for it, so that the log of every later step can be found by it.
  trace_id text,
  constraint external_id_comes_with_its_time check ((external_id is null) = (accepted_at is null)),
  constraint external_id_is_unique_per_provider unique (external_id, provider)
);

create or replace function holdfast.guard_external_id() returns trigger language plpgsql set search_path = '' as $$
begin
  if old.external_id is not null and new.external_id is distinct from old.external_id then
    raise exception 'the external id of a task is written once'
      using errcode = 'check_violation', constraint = 'external_id_is_written_once';
  end if;
  return new;
end
$$;

create or replace trigger guard_external_id before update on holdfast.provider_jobs
  for each row execute function holdfast.guard_external_id();
