drop table if exists holdfast.artifacts;
