drop table if exists holdfast.dead_letters;
