drop table if exists holdfast.lock_beats;
