drop function if exists holdfast.calls_of_others(text, text, text);
drop table if exists holdfast.budget_shares;
drop table if exists holdfast.budgets;
