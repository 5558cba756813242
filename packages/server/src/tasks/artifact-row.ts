import type { OutputState, TaskOutput } from '@holdfast/shared'
import type { PendingQuery, Row } from 'postgres'
import type { SignedUrl } from '../artifacts/signed-urls.ts'
import type { Sql, Tx } from '../database/connect.ts'

/** One artifact as JSON built by PostgreSQL, so that a task and its files are one row of one query. */
export interface ArtifactRow {
  state: OutputState
  contentType: string | null
  bytes: number | null
  sourceUrl: string
  sourceExpiresAt: string | null
  objectKey: string | null
  problem: string | null
  expiresAt: string | null
}

/**
 * All of `holdfast.artifacts a` that belong to something, in their order, as one JSON array. Rows and not
 * `json_build_object`, which looks its types up anew for every file and takes twice as long.
 */
export function outputsOf(sql: Sql | Tx, belongs: PendingQuery<Row[]>) {
  return sql`(
    select coalesce(json_agg(output), '[]') from (
      select
        a.state, a.content_type as "contentType", a.bytes, a.source_url as "sourceUrl",
        a.source_expires_at as "sourceExpiresAt", a.object_key as "objectKey", a.problem, a.expires_at as "expiresAt"
      from holdfast.artifacts a where ${belongs} order by a.ordinal
    ) output
  )`
}

/** Ours when the store has the file, and then never the provider's; the provider's until then (O2). */
export function toOutput(row: ArtifactRow, signed: SignedUrl | undefined): TaskOutput {
  return {
    ...urlOf(row, signed),
    contentType: row.contentType,
    bytes: row.bytes,
    state: row.state,
    problem: row.problem,
    expiresAt: toIso(row.expiresAt),
  }
}

function urlOf(
  { state, sourceUrl, sourceExpiresAt }: ArtifactRow,
  signed: SignedUrl | undefined,
): Pick<TaskOutput, 'url' | 'urlExpiresAt'> {
  if (state === 'remote') return { url: sourceUrl, urlExpiresAt: toIso(sourceExpiresAt) }
  if (state === 'stored' && signed) return { url: signed.url, urlExpiresAt: signed.expiresAt.toISOString() }
  return { url: null, urlExpiresAt: null }
}

function toIso(text: string | null): string | null {
  return text === null ? null : new Date(text).toISOString()
}
