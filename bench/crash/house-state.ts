import type postgres from 'postgres'
import { readStoredFiles } from './stored-files.ts'
import type { Left } from './things.ts'

/** What is left of some tasks, and of what else has its time. */
export interface HouseState {
  /** By the id of the task. */
  things: Record<string, Left & { version: number | null }>
  /** Other rows that have their time, by name. */
  usedUp: { heard: string[]; endpoints: string[]; tellings: string[]; telling: string[]; shares: string[] }
  /** Files that are still to be copied, and files in the store that nobody finished. */
  unfinished: number
  /** What no sweep may change. */
  ledger: string[]
  statistics: string[]
}

export async function readHouseState(
  sql: postgres.Sql,
  storeFolder: string,
  taskIds: readonly string[],
): Promise<HouseState> {
  const { objects, unfinished } = await readStoredFiles(storeFolder)
  // One statement, so that it is one moment.
  const [row] = await sql<[{ state: HouseState }]>`
    select json_build_object(
      'things', (
        select json_object_agg(i.id, json_build_object(
          'task', t.status, 'version', t.version, 'file', a.state,
          'object', exists (select from unnest(${objects.map(({ key }) => key)}::text[]) o (key) where o.key like '%/' || i.id || '/%'),
          'message', m.id is not null,
          'key', exists (select from holdfast.idempotency_keys k where k.task_id = i.id)
        ))
        from unnest(${taskIds}::uuid[]) i (id)
          left join holdfast.tasks t on t.id = i.id
          left join holdfast.messages m on m.task_id = i.id
          left join holdfast.artifacts a on a.task_id = i.id or a.message_id = m.id
      ),
      'usedUp', json_build_object(
        'heard', (select coalesce(json_agg(delivery_id), '[]') from holdfast.webhook_deliveries),
        'endpoints', (select coalesce(json_agg(id), '[]') from holdfast.webhook_endpoints),
        'tellings', (select coalesce(json_agg(endpoint), '[]') from holdfast.deliveries),
        'telling', (select coalesce(json_agg(provider), '[]') from holdfast.work where kind = 'deliver'),
        -- The servers have shares of their own, under other names.
        'shares', (select coalesce(json_agg(replica), '[]') from holdfast.budget_shares where replica in ('gone', 'here'))
      ),
      'unfinished', (select count(*) from holdfast.work where kind <> 'deliver') + ${unfinished}::int,
      'ledger', (
        select coalesce(json_agg(task_id || ' ' || kind || ' ' || amount order by task_id, kind), '[]') from holdfast.credit_ledger
      ),
      'statistics', (select coalesce(json_agg(d::text order by d::text), '[]') from holdfast.tasks_by_day d)
    ) as state
  `
  return row.state
}
