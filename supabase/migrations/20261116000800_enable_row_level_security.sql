-- S1: a user reads their own rows, only the columns made for users, and changes nothing; changes go through the
-- API. The service role may do everything. Nothing is granted to anon.

grant usage on schema holdfast to authenticated, service_role;
revoke all on all tables in schema holdfast from public, anon, authenticated;
revoke all on all functions in schema holdfast from public, anon, authenticated;
grant execute on function holdfast.current_user_id() to authenticated, service_role;
grant execute on function holdfast.new_id() to service_role;
grant all on all tables in schema holdfast to service_role;
grant all on all sequences in schema holdfast to service_role;

do $$
declare
  name text;
begin
  foreach name in array array[
    'tasks', 'provider_jobs', 'work', 'artifacts', 'conversations', 'messages',
    'credit_accounts', 'credit_ledger', 'idempotency_keys'
  ] loop
    execute format('alter table holdfast.%I enable row level security', name);
    execute format('drop policy if exists service_does_everything on holdfast.%I', name);
    execute format('create policy service_does_everything on holdfast.%I to service_role using (true) with check (true)', name);
  end loop;

  -- provider_jobs, work and idempotency_keys have no policy for users: there is nothing in them to see.
  foreach name in array array['tasks', 'artifacts', 'conversations', 'messages', 'credit_accounts', 'credit_ledger'] loop
    execute format('drop policy if exists owner_reads on holdfast.%I', name);
    execute format(
      'create policy owner_reads on holdfast.%I for select to authenticated using (user_id = (select holdfast.current_user_id()))',
      name
    );
  end loop;
end
$$;

grant select (
  id, user_id, type, provider, status, progress, params, metadata, failure_code, failure_message, failure_retryable,
  conversation_id, placeholder_id, message_id, parent_id, retry_of, lane, priority, estimated_at, deadline_at,
  expires_at, version, created_at, started_at, finished_at, updated_at
) on holdfast.tasks to authenticated;

grant select (
  id, task_id, message_id, user_id, ordinal, state, content_type, bytes, expires_at, created_at
) on holdfast.artifacts to authenticated;

grant select on holdfast.conversations, holdfast.messages to authenticated;
grant select (user_id, balance, held, updated_at) on holdfast.credit_accounts to authenticated;
grant select (id, user_id, task_id, kind, amount, created_at) on holdfast.credit_ledger to authenticated;
