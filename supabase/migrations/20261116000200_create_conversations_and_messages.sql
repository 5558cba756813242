create table if not exists holdfast.conversations (
  id uuid primary key default holdfast.new_id(),
  user_id text not null,
  title text not null,
  unread_count integer not null default 0,
  last_message_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint conversation_has_a_user check (user_id <> ''),
  constraint conversation_title_has_a_sane_length check (char_length(title) between 1 and 200),
  constraint unread_count_is_not_negative check (unread_count >= 0)
);

create index if not exists conversations_of_a_user
  on holdfast.conversations (user_id, (coalesce(last_message_at, created_at)) desc);

create table if not exists holdfast.messages (
  id uuid primary key default holdfast.new_id(),
  conversation_id uuid not null references holdfast.conversations on delete cascade,
  user_id text not null,
  role text not null,
  content text not null,
  -- No foreign key: a message outlives its task's row.
  task_id uuid,
  task_type text,
  placeholder_id text,
  params jsonb not null default '{}',
  credits_spent bigint not null default 0,
  created_at timestamptz not null default now(),
  constraint one_message_per_task unique (task_id),
  constraint message_role_is_known check (role in ('user', 'assistant')),
  constraint message_has_a_user check (user_id <> ''),
  constraint message_params_is_an_object check (jsonb_typeof(params) = 'object'),
  constraint credits_spent_is_not_negative check (credits_spent >= 0)
);

create index if not exists messages_of_a_conversation on holdfast.messages (conversation_id, id);
