drop table if exists holdfast.webhook_deliveries;
alter table holdfast.provider_jobs drop column if exists reported_id;
alter table holdfast.provider_jobs drop column if exists callback_secret;
