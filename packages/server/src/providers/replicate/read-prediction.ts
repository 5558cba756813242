import type { QueryReading } from '../http-api/readings.ts'
import { isWebUrl } from '../is-web-url.ts'
import { progressOfLogs } from '../progress-of-logs.ts'
import { asRecord } from '../read-json.ts'

/** More files than any model makes, and few enough to keep. */
const MOST_FILES = 100
/** Outputs are lists or records of URLs; anything deeper is data. */
const DEEPEST = 5

/**
 * What a prediction says about the one we asked for. Throws where it says nothing: then nothing was learned.
 */
export function readPrediction(
  json: unknown,
  externalId: string,
  onUnknownStatus: (status: unknown) => void,
): QueryReading {
  const prediction = asRecord(json)
  if (!prediction || typeof prediction.status !== 'string') throw new Error('the prediction has no status')
  // Another task's result must never be shown as this one's.
  if (prediction.id !== externalId) throw new Error('the prediction is about another task')

  switch (prediction.status) {
    case 'succeeded':
      return readSuccess(prediction)
    case 'failed':
      return { kind: 'failed', words: wordsOf(prediction.error) }
    case 'canceled':
    // Its own time limit passed before it began.
    case 'aborted':
      return { kind: 'cancelled' }
    case 'starting':
    case 'processing':
      return { kind: 'running', progress: progressOfLogs(prediction.logs) }
    default:
      onUnknownStatus(prediction.status)
      return { kind: 'running', progress: progressOfLogs(prediction.logs) }
  }
}

function readSuccess(prediction: Record<string, unknown>): QueryReading {
  const urls = urlsIn(prediction.output)
  if (urls.length === 0 && prediction.data_removed === true) {
    return {
      kind: 'failed',
      code: 'RESULT_UNREADABLE',
      words: 'the result was removed before it could be fetched',
      retryable: true,
    }
  }
  return { kind: 'succeeded', outputs: urls.map((url) => ({ url })) }
}

/** The URLs in an output, in order: it may be one, a list, a record, or a mix. */
function urlsIn(output: unknown, depth = 0): string[] {
  if (isWebUrl(output)) return [output]
  if (typeof output !== 'object' || output === null || depth >= DEEPEST) return []
  return Object.values(output)
    .flatMap((value) => urlsIn(value, depth + 1))
    .slice(0, MOST_FILES)
}

function wordsOf(error: unknown): string {
  if (typeof error === 'string') return error
  const { detail, message } = asRecord(error) ?? {}
  return typeof detail === 'string' ? detail : typeof message === 'string' ? message : ''
}
