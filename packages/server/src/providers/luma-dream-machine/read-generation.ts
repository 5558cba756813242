import type { ApiReply } from '../http-api/api-request.ts'
import type { OutputReading, QueryReading } from '../http-api/readings.ts'
import { asRecord } from '../read-json.ts'

const UNFINISHED = new Set(['queued', 'dreaming'])
/** How files that Luma could not use are told. They will not be usable next time. */
const BAD_INPUT = /user input|input (?:frame|image|video)|download|fetch/i

/** What `GET /generations/{id}` says. Throws where it is no generation: every field may be missing. */
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
  if (generation.state === 'completed') return { kind: 'succeeded', outputs: readAssets(generation.assets) }
  if (generation.state === 'failed') {
    // There is no code, only words.
    const words = typeof generation.failure_reason === 'string' ? generation.failure_reason : ''
    return { kind: 'failed', words, retryable: !BAD_INPUT.test(words) }
  }
  if (!UNFINISHED.has(generation.state)) unknownState(generation.state)
  return { kind: 'running' }
}

/** `progress_video`, a preview of an unfinished one, is no result. */
function readAssets(value: unknown): OutputReading[] {
  const assets = asRecord(value)
  return [assets?.video, assets?.image].flatMap((url) => (typeof url === 'string' ? [{ url }] : []))
}
