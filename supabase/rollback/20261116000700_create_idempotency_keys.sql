drop table if exists holdfast.idempotency_keys;
