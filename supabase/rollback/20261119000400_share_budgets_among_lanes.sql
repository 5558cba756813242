alter table holdfast.budget_shares drop column if exists lanes;
