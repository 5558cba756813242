-- Which lanes a replica serves, where it does not serve all of them: replicas that serve others leave those their share.
alter table holdfast.budget_shares add column if not exists lanes text[];
