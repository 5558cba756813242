import type { Sql } from 'postgres'
import type { NewTask } from './serve-tasks.ts'
import { FIRST_POLL_MS, NEXT_POLL_MS } from './settings.ts'
import type { StoredFile } from './store-file.ts'

export interface ClaimedSend {
  id: string
  params: { prompt: string }
}
export interface ClaimedPoll {
  id: string
  epoch: number
  externalId: string
}

/** A claim that is not finished within this comes due again. */
const LEASE_MS = 60_000

/** Every step of a life as one statement for many tasks. Rows are locked in the order of their ids. */
export function bareStatements(sql: Sql) {
  const ids = (items: readonly { id: string }[]) => items.map(({ id }) => id)
  return {
    create: (items: NewTask[]) => sql<{ id: string; createdAt: Date }[]>`
      with items as materialized (
        select * from unnest(
          ${ids(items)}::uuid[], ${items.map(({ userId }) => userId)}::text[], ${items.map(({ key }) => key)}::text[],
          ${items.map(({ bodyHash }) => bodyHash)}::text[], ${items.map(({ type }) => type)}::text[],
          ${items.map(({ params }) => JSON.stringify(params))}::text[]
        ) as item (id, user_id, key, body_hash, type, params)
      ),
      created as (
        insert into tasks (id, user_id, key, body_hash, type, params)
        select id, user_id, key, body_hash, type, params::jsonb from items
        on conflict (user_id, key) do nothing returning id, created_at
      ),
      to_send as (insert into work (task_id, kind) select id, 'send' from created)
      select id, created_at as "createdAt" from created
    `,
    /** Claims and marks: what this returns may be sent, once it is committed. */
    claimSends: (limit: number) => sql<ClaimedSend[]>`
      with due as materialized (
        select task_id from work where kind = 'send' and due_at <= now()
        order by due_at limit ${limit} for update skip locked
      ),
      claimed as (
        update work set epoch = epoch + 1, due_at = now() + ${LEASE_MS} * interval '1 ms'
        where task_id = any(array(select task_id from due)) returning task_id
      )
      update tasks set sending_at = now()
      where id = any(array(select task_id from claimed)) and sending_at is null and external_id is null
      returning id, params
    `,
    accept: (items: { id: string; externalId: string }[]) => sql<{ id: string }[]>`
      with items as materialized (
        select * from unnest(${ids(items)}::uuid[], ${items.map(({ externalId }) => externalId)}::text[])
          as item (id, external_id)
      ),
      to_poll as (
        update work set kind = 'poll', due_at = now() + ${FIRST_POLL_MS} * interval '1 ms'
        where task_id = any(${ids(items)}::uuid[]) and kind = 'send'
      )
      update tasks t set
        status = 'running', external_id = i.external_id, started_at = now(),
        deadline_at = now() + interval '10 min', version = version + 1
      from items i where t.id = i.id and t.id = any(${ids(items)}::uuid[]) and t.status = 'pending'
      returning t.id
    `,
    claimPolls: (limit: number) => sql<ClaimedPoll[]>`
      with due as materialized (
        select task_id from work where kind = 'poll' and due_at <= now()
        order by due_at limit ${limit} for update skip locked
      ),
      claimed as (
        update work set epoch = epoch + 1, due_at = now() + ${LEASE_MS} * interval '1 ms'
        where task_id = any(array(select task_id from due)) returning task_id, epoch
      )
      select c.task_id as id, c.epoch, t.external_id as "externalId"
      from claimed c join tasks t on t.id = c.task_id
    `,
    postpone: (items: { id: string }[]) => sql<{ id: string }[]>`
      update work set due_at = now() + ${NEXT_POLL_MS} * interval '1 ms'
      where task_id = any(${ids(items)}::uuid[]) and kind = 'poll' returning task_id as id
    `,
    /** The work row becomes the copy's, claimed by this process already. */
    settle: (items: { id: string; epoch: number; url: string }[]) => sql<{ id: string }[]>`
      with items as materialized (
        select * from unnest(
          ${ids(items)}::uuid[], ${items.map(({ epoch }) => epoch)}::int[], ${items.map(({ url }) => url)}::text[]
        ) as item (id, epoch, url)
      ),
      to_copy as (
        update work w set kind = 'copy', due_at = now() + ${LEASE_MS} * interval '1 ms' from items i
        where w.task_id = i.id and w.task_id = any(${ids(items)}::uuid[]) and w.kind = 'poll' and w.epoch = i.epoch
        returning i.id, i.url
      ),
      settled as (
        update tasks t set status = 'completed', finished_at = now(), version = version + 1 from to_copy c
        where t.id = c.id and t.id = any(${ids(items)}::uuid[]) and t.status = 'running'
        returning t.id, t.user_id, c.url
      )
      insert into files (task_id, ordinal, user_id, source_url) select id, 0, user_id, url from settled
      returning task_id as id
    `,
    stored: (items: (StoredFile & { epoch: number })[]) => sql<{ id: string }[]>`
      with items as materialized (
        select * from unnest(
          ${ids(items)}::uuid[], ${items.map(({ epoch }) => epoch)}::int[], ${items.map(({ path }) => path)}::text[],
          ${items.map(({ bytes }) => bytes)}::bigint[], ${items.map(({ sha256 }) => sha256)}::text[]
        ) as item (id, epoch, path, bytes, sha256)
      ),
      done as (
        delete from work w using items i
        where w.task_id = i.id and w.task_id = any(${ids(items)}::uuid[]) and w.kind = 'copy' and w.epoch = i.epoch
        returning i.*
      ),
      stored as (
        update files f set
          state = 'stored', path = d.path, bytes = d.bytes, sha256 = d.sha256, content_type = 'image/png'
        from done d
        where f.task_id = d.id and f.task_id = any(${ids(items)}::uuid[]) and f.ordinal = 0 and f.state = 'remote'
        returning f.task_id
      )
      update tasks set version = version + 1 where id = any(array(select task_id from stored)) returning id
    `,
  }
}
