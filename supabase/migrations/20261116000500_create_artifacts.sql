-- One row per result file. Messages point here and never to a URL, because URLs die.
create table if not exists holdfast.artifacts (
  id uuid primary key default holdfast.new_id(),
  -- The row outlives the task's, as long as a message shows it.
  task_id uuid references holdfast.tasks on delete set null,
  message_id uuid references holdfast.messages on delete cascade,
  user_id text not null,
  ordinal smallint not null,
  state text not null default 'remote',
  content_type text,
  bytes bigint,
  sha256 text,
  source_url text not null,
  source_expires_at timestamptz,
  object_key text,
  attempts smallint not null default 0,
  last_error text,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  constraint one_artifact_per_output unique (task_id, ordinal),
  constraint artifact_has_a_user check (user_id <> ''),
  constraint artifact_state_is_known check (state in ('remote', 'stored', 'expired', 'deleted')),
  constraint stored_exactly_with_its_object check (
    case when state = 'stored' then object_key is not null and bytes is not null and sha256 is not null
      else state = 'deleted' or object_key is null end
  ),
  constraint bytes_is_not_negative check (bytes >= 0),
  constraint sha256_is_hex check (sha256 ~ '^[0-9a-f]{64}$'),
  constraint ordinal_is_not_negative check (ordinal >= 0)
);

create index if not exists artifacts_of_a_message on holdfast.artifacts (message_id, ordinal);
