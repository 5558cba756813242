import type { OutputState, TaskOutput } from '@holdfast/shared'
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

/** A JSON object of `holdfast.artifacts a`. */
export function outputColumns(sql: Sql | Tx) {
  return sql`json_build_object(
    'state', a.state, 'contentType', a.content_type, 'bytes', a.bytes, 'sourceUrl', a.source_url,
    'sourceExpiresAt', a.source_expires_at, 'objectKey', a.object_key, 'problem', a.problem, 'expiresAt', a.expires_at
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
