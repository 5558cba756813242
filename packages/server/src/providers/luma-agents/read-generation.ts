import type { ApiReply } from '../http-api/api-request.ts'
import type { QueryReading } from '../http-api/readings.ts'
import { asRecord } from '../read-json.ts'

const UNFINISHED = new Set(['queued', 'processing'])

/** What `GET /generations/{id}` says. Throws where it is no generation. */
export function readGeneration(
  { json }: Pick<ApiReply, 'json'>,
  externalId: string,
  unknownState: (state: unknown) => void,
): QueryReading {
  const generation = asRecord(json)
  if (typeof generation?.state !== 'string') throw new Error('the generation has no state')
  // Another task's result must never be shown as this one's.
  if (generation.id !== undefined && generation.id !== externalId) {
    throw new Error('the reply is about another generation')
  }
  if (generation.state === 'completed') {
    const files = Array.isArray(generation.output) ? generation.output : []
    return { kind: 'succeeded', outputs: files.map((file) => ({ url: String(asRecord(file)?.url ?? '') })) }
  }
  if (generation.state === 'failed') return readFailure(generation)
  if (!UNFINISHED.has(generation.state)) unknownState(generation.state)
  return { kind: 'running' }
}

function readFailure({ failure_reason, failure_code }: Record<string, unknown>): QueryReading {
  const words = typeof failure_reason === 'string' ? failure_reason : ''
  switch (failure_code) {
    case 'content_moderated':
      return { kind: 'failed', code: 'CONTENT_REFUSED', words }
    case 'budget_exhausted':
      return { kind: 'failed', code: 'PROVIDER_QUOTA', words }
  }
  // `generation_failed`, `output_not_found`, and what may be added.
  return { kind: 'failed', words, retryable: true }
}
