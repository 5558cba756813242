drop table if exists holdfast.budget_shares;
drop table if exists holdfast.budgets;
