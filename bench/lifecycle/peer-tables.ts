import type { Sql } from 'postgres'
import type { FoundTask, NewTask } from './serve-tasks.ts'
import type { StoredFile } from './store-file.ts'
import { TASKS_AND_FILES } from './tables.ts'

/**
 * What a team that builds on a job queue keeps in PostgreSQL: the tasks and their files. What is to be done next is the
 * queue's. Each step is one statement for one task, and may be repeated: a job that comes twice changes nothing more.
 */
export async function openPeerTables(sql: Sql) {
  await sql.unsafe(TASKS_AND_FILES)
  await sql`create index on tasks (created_at) where status = 'pending'`

  return {
    /** The row of a new task; undefined if the key is taken. */
    async insert(db: Sql, { id, userId, key, bodyHash, type, params }: NewTask) {
      const [created] = await db<{ id: string; createdAt: Date }[]>`
        insert into tasks (id, user_id, key, body_hash, type, params)
        values (${id}, ${userId}, ${key}, ${bodyHash}, ${type}, ${sql.json(params)})
        on conflict (user_id, key) do nothing returning id, created_at as "createdAt"
      `
      return created
    },
    async findByKey({ userId, key, bodyHash }: NewTask) {
      const [known] = await sql<{ id: string; bodyHash: string; createdAt: Date }[]>`
        select id, body_hash as "bodyHash", created_at as "createdAt" from tasks
        where user_id = ${userId} and key = ${key}
      `
      if (known?.bodyHash !== bodyHash) return 'conflict' as const
      return { id: known.id, createdAt: known.createdAt, isNew: false }
    },
    async find(userId: string, id: string): Promise<FoundTask | null> {
      const [found] = await sql<FoundTask[]>`
        select t.status, f.state as "fileState" from tasks t left join files f on f.task_id = t.id
        where t.id = ${id} and t.user_id = ${userId}
      `
      return found ?? null
    },
    /** Only those that this returns may be sent: of the others nobody knows whether they were. */
    mark: (ids: string[]) => sql<{ id: string; params: { prompt: string } }[]>`
      update tasks set sending_at = now()
      where id = any(${ids}::uuid[]) and sending_at is null and external_id is null
      returning id, params
    `,
    accept: (id: string, externalId: string) => sql`
      update tasks set
        status = 'running', external_id = ${externalId}, started_at = now(),
        deadline_at = now() + interval '10 min', version = version + 1
      where id = ${id} and status = 'pending'
    `,
    settle: (id: string, url: string) => sql`
      with settled as (
        update tasks set status = 'completed', finished_at = now(), version = version + 1
        where id = ${id} and status = 'running' returning id, user_id
      )
      insert into files (task_id, ordinal, user_id, source_url) select id, 0, user_id, ${url} from settled
    `,
    stored: ({ id, path, bytes, sha256 }: StoredFile) => sql`
      with stored as (
        update files set
          state = 'stored', path = ${path}, bytes = ${bytes}, sha256 = ${sha256}, content_type = 'image/png'
        where task_id = ${id} and ordinal = 0 and state = 'remote' returning task_id
      )
      update tasks set version = version + 1 where id = (select task_id from stored)
    `,
    /** Tasks that were committed but whose job never reached a queue outside PostgreSQL. */
    findForgotten: () => sql<{ id: string }[]>`
      select id from tasks
      where status = 'pending' and sending_at is null and created_at < now() - interval '10 s' limit 100
    `,
  }
}
