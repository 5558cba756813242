import type postgres from 'postgres'

export interface TaskLedger {
  total: number
  active: number
  completed: number
  /** Failure codes, sorted, one for each failed task. */
  failures: string[]
  /** Tasks that ended more than once, going by every write that the database saw. */
  endedTwice: number
  /** Completed tasks with a conversation that do not have exactly one message. */
  messagesAmiss: number
  /** Tasks whose number of writes is not what their version says. */
  versionsAmiss: number
}

/** Notes every change of a task's status, in the database itself, whoever makes it. */
export async function recordHistory(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create table task_history (task_id uuid, version integer, was text, status text, at timestamptz default clock_timestamp());
    create function note_history() returns trigger language plpgsql as $$
    begin
      insert into public.task_history (task_id, version, was, status)
      values (new.id, new.version, case tg_op when 'UPDATE' then old.status end, new.status);
      return null;
    end $$;
    create trigger note_history after insert or update on holdfast.tasks for each row execute function note_history();
    alter table holdfast.tasks enable always trigger note_history;
    grant all on task_history to public;
  `)
}

export async function readTasks(sql: postgres.Sql): Promise<TaskLedger> {
  const [row] = await sql<[TaskLedger]>`
    select count(*)::int as total,
      count(*) filter (where status in ('pending', 'running'))::int as active,
      count(*) filter (where status = 'completed')::int as completed,
      coalesce(array_agg(failure_code order by failure_code) filter (where failure_code is not null), '{}') as failures,
      count(*) filter (where h.ends > 1)::int as "endedTwice",
      count(*) filter (where status = 'completed' and conversation_id is not null and coalesce(m.count, 0) <> 1)::int as "messagesAmiss",
      count(*) filter (where h.writes <> version)::int as "versionsAmiss"
    from holdfast.tasks t
      left join (
        select task_id, count(*) filter (where was in ('pending', 'running') and status in ('completed', 'failed', 'cancelled')) as ends, count(*) as writes
        from task_history group by 1
      ) h on h.task_id = t.id
      left join (select task_id, count(*) from holdfast.messages group by 1) m on m.task_id = t.id
  `
  return row
}
