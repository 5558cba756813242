-- A repeated request with the same key finds the task that the first one made.
create table if not exists holdfast.idempotency_keys (
  user_id text not null,
  key text not null,
  body_hash text not null,
  task_id uuid not null references holdfast.tasks on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '30 days',
  primary key (user_id, key),
  constraint idempotency_key_has_a_sane_length check (char_length(key) between 1 and 200)
);

create index if not exists idempotency_keys_by_expiry on holdfast.idempotency_keys (expires_at);
create index if not exists idempotency_keys_of_a_task on holdfast.idempotency_keys (task_id);
