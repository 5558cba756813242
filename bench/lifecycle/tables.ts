/** What everything that is written by hand knows of a task and of its file. */
export const TASKS_AND_FILES = `
  create table tasks (
    id uuid primary key, user_id text not null, key text not null, body_hash text not null, type text not null,
    params jsonb not null, status text not null default 'pending'
      check (status in ('pending', 'running', 'completed', 'failed', 'cancelled')),
    sending_at timestamptz, external_id text, version int not null default 1,
    created_at timestamptz not null default now(), started_at timestamptz, deadline_at timestamptz,
    finished_at timestamptz,
    unique (user_id, key)
  ) with (fillfactor = 50);
  create index on tasks (user_id, id);
  create table files (
    task_id uuid not null, ordinal smallint not null, user_id text not null, state text not null default 'remote',
    source_url text not null, path text, bytes bigint, sha256 text, content_type text,
    primary key (task_id, ordinal)
  ) with (fillfactor = 70);
`

/** What is to be done next: the bare process's own. The peers have a queue for it. */
export const WORK = `
  create table work (
    task_id uuid primary key, kind text not null, due_at timestamptz not null default now(), epoch int not null default 0
  ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0);
  create index on work (kind, due_at);
`
