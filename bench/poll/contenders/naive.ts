import postgres from 'postgres'
import type { OpenContender } from '../contender.ts'
import { eachWithLimit } from '../each-with-limit.ts'
import { CONNECTIONS, queryProvider } from '../http-client.ts'
import { externalIdOf, NEXT_POLL_MS } from '../settings.ts'

/**
 * The loop that one writes first: select all that is due, ask about each with limited concurrency, one `update` each.
 * Given good conditions: no more than the columns it needs, prepared statements, 20 connections to PostgreSQL so that
 * commits are flushed together, twice as many tasks in flight as HTTP connections.
 */
export const openNaive: OpenContender = async ({ databaseUrl, tasks }, pool) => {
  const sql = postgres(databaseUrl, { max: 20, onnotice: () => {} })
  return {
    async seed() {
      await sql`drop table if exists naive_tasks`
      await sql`
        create table naive_tasks (
          id bigint primary key, external_id text not null, status text not null default 'running', params jsonb not null,
          due_at timestamptz not null, poll_count integer not null default 0, last_polled_at timestamptz
        ) with (fillfactor = 60)
      `
      await sql`create index on naive_tasks (due_at) where status = 'running'`
      const ids = Array.from({ length: tasks }, (_, index) => externalIdOf(index))
      await sql`
        insert into naive_tasks (id, external_id, params, due_at)
        select n, external_id, '{"prompt": "a lighthouse on a cliff"}', now() - random() * interval '60 s'
        from unnest(${ids}::text[]) with ordinality as t (external_id, n)
      `
      await sql`vacuum analyze naive_tasks`
    },
    async pollAll() {
      const due = await sql<{ id: string; externalId: string }[]>`
        select id, external_id as "externalId" from naive_tasks
        where status = 'running' and due_at <= now() order by due_at
      `
      await eachWithLimit(due, CONNECTIONS * 2, async ({ id, externalId }) => {
        await queryProvider(pool, externalId)
        await sql`
          update naive_tasks set due_at = now() + ${NEXT_POLL_MS} * interval '1 ms', poll_count = poll_count + 1, last_polled_at = now()
          where id = ${id}
        `
      })
    },
    async makeDue() {
      await sql`update naive_tasks set due_at = now() - random() * interval '60 s'`
      await sql`vacuum analyze naive_tasks`
    },
    async countWaiting() {
      const [row] = await sql<{ count: number }[]>`
        select count(*)::int from naive_tasks where last_polled_at is not null and due_at > last_polled_at
      `
      return row?.count ?? 0
    },
    close: () => sql.end({ timeout: 5 }),
  }
}
