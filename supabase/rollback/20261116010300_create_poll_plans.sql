drop table if exists holdfast.poll_plans;
