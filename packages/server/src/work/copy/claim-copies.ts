import type { OutputState } from '@holdfast/shared'
import type { Sql } from '../../database/connect.ts'
import { takeOver } from '../../engine/claim.ts'

/** One result file to copy from its provider to our store. */
export interface ClaimedCopy {
  workId: string
  epoch: number
  /** How often it was tried in vain. */
  attempts: number
  taskId: string
  ordinal: number
  provider: string
  lane: string
  /** Null if nobody knows of the file any more; then the rest about it is of no meaning. */
  artifactId: string | null
  state: OutputState
  userId: string
  sourceUrl: string
  /** The provider's own URL, where `sourceUrl` is one that was asked for later. */
  firstUrl: string | null
  contentType: string | null
  /** Set when it was given up; what is left to do is to say when its source has died. */
  problem: string | null
  externalId: string | null
  traceId: string | null
  /** How long its source is good for; negative when that is over, null if it is for ever. */
  leftMs: number | null
  /** How long ago the task finished. */
  ageMs: number
  lagMs: number
}

/**
 * Claims files to copy: of those that are due, the ones whose source dies first. Not under a provider's budget or
 * lock: all replicas copy side by side, and the epoch tells who of them holds a file.
 *
 * The index has the same order, and its entries tell what is due, so that a claim reads as many rows as it takes.
 */
export function claimCopies(
  sql: Sql,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<ClaimedCopy[]> {
  return sql<ClaimedCopy[]>`
    with due as materialized (
      select w.ctid as at, w.task_id, w.part, w.due_at from holdfast.work w
      where w.kind = 'copy' and w.due_at <= now()
      order by w.needed_by, w.due_at limit ${limit} for update skip locked
    ),
    claimed as (
      update holdfast.work w set ${takeOver(sql)}, due_at = now() + ${leaseMs}::float8 * interval '1 ms'
      from due d
        left join lateral (
          select a.id, a.state, a.user_id, a.source_url, a.first_url, a.content_type, a.problem, a.created_at
          from holdfast.artifacts a where a.task_id = d.task_id and a.ordinal = d.part limit 1
        ) a on true
        left join lateral (
          select j.external_id, j.trace_id from holdfast.provider_jobs j where j.task_id = d.task_id limit 1
        ) j on true
      where w.ctid = d.at
      returning w.id, w.epoch, w.attempts, w.task_id, w.part, w.provider, w.lane, w.needed_by, d.due_at, a.id as artifact_id,
        a.state, a.user_id, a.source_url, a.first_url, a.content_type, a.problem, a.created_at, j.external_id, j.trace_id
    )
    select
      c.id::text as "workId", c.epoch, c.attempts, c.task_id as "taskId", c.part as ordinal, c.provider, c.lane,
      c.artifact_id as "artifactId", c.state, c.user_id as "userId", c.source_url as "sourceUrl", c.first_url as "firstUrl",
      c.content_type as "contentType", c.problem, c.external_id as "externalId", c.trace_id as "traceId",
      (extract(epoch from c.needed_by - now()) * 1000)::float8 as "leftMs",
      (extract(epoch from now() - c.created_at) * 1000)::float8 as "ageMs",
      (extract(epoch from now() - c.due_at) * 1000)::float8 as "lagMs"
    from claimed c order by c.needed_by, c.due_at
  `
}

/** How many files wait to be copied, and how many of them could be by now. */
export async function countCopies(sql: Sql): Promise<{ waiting: number; due: number }> {
  const [row] = await sql<[{ waiting: number; due: number }]>`
    select count(*)::int as waiting, (count(*) filter (where due_at <= now()))::int as due
    from holdfast.work where kind = 'copy'
  `
  return row
}
