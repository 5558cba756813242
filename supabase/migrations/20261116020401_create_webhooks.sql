-- Part of every callback URL: whoever knows it was told by us. And what a callback said the external id is, while the
-- reply to the create has not been written down.
alter table holdfast.provider_jobs add column if not exists callback_secret text not null
  default replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
alter table holdfast.provider_jobs add column if not exists reported_id text;

-- Webhooks that were heard, by the id their vendor gave them: a repeat changes nothing.
create table if not exists holdfast.webhook_deliveries (
  provider text not null,
  delivery_id text not null,
  received_at timestamptz not null default now(),
  constraint a_delivery_is_heard_once primary key (provider, delivery_id)
);

create index if not exists webhook_deliveries_by_age on holdfast.webhook_deliveries (received_at);

alter table holdfast.webhook_deliveries enable row level security;
revoke all on holdfast.webhook_deliveries from public, anon, authenticated;
grant all on holdfast.webhook_deliveries to service_role;
drop policy if exists service_does_everything on holdfast.webhook_deliveries;
create policy service_does_everything on holdfast.webhook_deliveries to service_role using (true) with check (true);
