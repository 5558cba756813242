-- Copying a result file to our own store is work of kind `mirror`, one row per file.

-- When it is too late: the file's source dies then. Null where the provider promises for ever, and for other work.
alter table holdfast.work add column if not exists needed_by timestamptz;

-- Earliest deadline first. Of the other kinds nothing is in it, so that it costs polls nothing.
create index if not exists work_mirrors on holdfast.work (needed_by, due_at) where kind = 'mirror';

-- The provider's own URL, once `source_url` is one that was asked for later: each refresh is asked for by the first.
alter table holdfast.artifacts add column if not exists first_url text;
-- Why there is no copy and will be none, in words for the user. Null while there is one, or hope.
alter table holdfast.artifacts add column if not exists problem text;
grant select (problem) on holdfast.artifacts to authenticated;
