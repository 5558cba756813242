drop table if exists holdfast.work;
