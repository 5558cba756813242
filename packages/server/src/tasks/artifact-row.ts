import type { OutputState, TaskOutput } from '@holdfast/shared'
import type { Sql, Tx } from '../database/connect.ts'

/** One artifact as JSON built by PostgreSQL, so that a task and its files are one row of one query. */
export interface ArtifactRow {
  state: OutputState
  contentType: string | null
  bytes: number | null
  sourceUrl: string
  sourceExpiresAt: string | null
  expiresAt: string | null
}

/** A JSON object of `holdfast.artifacts a`. */
export function outputColumns(sql: Sql | Tx) {
  return sql`json_build_object(
    'state', a.state, 'contentType', a.content_type, 'bytes', a.bytes, 'sourceUrl', a.source_url,
    'sourceExpiresAt', a.source_expires_at, 'expiresAt', a.expires_at
  )`
}

export function toOutput(row: ArtifactRow): TaskOutput {
  return {
    url: row.state === 'remote' ? row.sourceUrl : null,
    contentType: row.contentType,
    bytes: row.bytes,
    state: row.state,
    urlExpiresAt: toIso(row.sourceExpiresAt),
    expiresAt: toIso(row.expiresAt),
  }
}

function toIso(text: string | null): string | null {
  return text === null ? null : new Date(text).toISOString()
}
