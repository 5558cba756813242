import type { TaskStatus } from '@holdfast/shared'
import type { Sql } from '../src/database/connect.ts'

/** One write of a row of `tasks`, `work` or `provider_jobs`, and who made it: the `application_name` of the connection. */
export interface AuditEntry {
  id: number
  actor: string
  at: 'tasks' | 'work' | 'provider_jobs'
  taskId: string
  before: AuditedRow | null
  after: AuditedRow | null
}

/** Of any of the tables; what the others do not have is undefined. */
export interface AuditedRow {
  id: string | number
  status: TaskStatus
  attempts: number
  version: number
  kind: string
  epoch: number
  sending_at: string | null
}

/** From now on every write to those tables is kept, in the order in which the writes were made. */
export async function startAuditTrail(sql: Sql): Promise<void> {
  await sql.unsafe(`
    create table audit_trail (id bigint generated always as identity primary key, actor text, at text, task_id uuid, before jsonb, after jsonb);
    create index on audit_trail (task_id, id);
    create function keep_audit_trail() returns trigger language plpgsql as $$
    begin
      insert into audit_trail (actor, at, task_id, before, after) values (
        current_setting('application_name'), tg_table_name,
        (coalesce(to_jsonb(new), to_jsonb(old)) ->> case tg_table_name when 'tasks' then 'id' else 'task_id' end)::uuid,
        case tg_op when 'INSERT' then null else to_jsonb(old) end,
        case tg_op when 'DELETE' then null else to_jsonb(new) end
      );
      return null;
    end
    $$;
    create trigger audit_tasks after insert or update or delete on holdfast.tasks for each row execute function keep_audit_trail();
    create trigger audit_jobs after insert or update or delete on holdfast.provider_jobs for each row execute function keep_audit_trail();
    create trigger audit_work after insert or update or delete on holdfast.work for each row execute function keep_audit_trail();
  `)
}

/** What was written of these tasks after the entry with this id, oldest first. */
export function readAuditTrail(
  sql: Sql,
  { taskIds, afterId }: { taskIds: string[]; afterId: number },
): Promise<AuditEntry[]> {
  return sql<AuditEntry[]>`
    select id::int, actor, at, task_id as "taskId", before, after from audit_trail
    where id > ${afterId} and task_id = any(${taskIds}::uuid[]) order by id
  `
}
