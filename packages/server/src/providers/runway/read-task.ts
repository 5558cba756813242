import type { ApiReply } from '../http-api/api-request.ts'
import type { QueryReading } from '../http-api/readings.ts'
import { asRecord } from '../read-json.ts'

/** Waiting, working, or held because the account works on as many as it may: none of these is a failure. */
const UNFINISHED = new Set(['PENDING', 'THROTTLED', 'RUNNING'])

/** What `GET /v1/tasks/{id}` says. Throws where it is no task. */
export function readTask(
  { json }: Pick<ApiReply, 'json'>,
  externalId: string,
  unknownStatus: (status: unknown) => void,
): QueryReading {
  const task = asRecord(json)
  if (typeof task?.status !== 'string') throw new Error('the task has no status')
  // Another task's result must never be shown as this one's.
  if (task.id !== undefined && task.id !== externalId) throw new Error('the reply is about another task')
  switch (task.status) {
    case 'SUCCEEDED':
      return {
        kind: 'succeeded',
        outputs: (Array.isArray(task.output) ? task.output : []).map((url) => ({ url })),
      }
    case 'FAILED':
      return readFailure(task)
    case 'CANCELLED':
      return { kind: 'cancelled' }
  }
  if (!UNFINISHED.has(task.status)) unknownStatus(task.status)
  return { kind: 'running', progress: readProgress(task.progress) }
}

/** Told as a part of one. Taken for per cent above that, since the scale is not documented. */
function readProgress(value: unknown): number | null {
  if (typeof value !== 'number') return null
  return value <= 1 ? value * 100 : value
}

/**
 * Codes are families, told apart by their first parts; the last part is only for diagnosis. `SAFETY` may stand
 * behind the name of the step that found it.
 */
function readFailure({ failure, failureCode }: Record<string, unknown>): QueryReading {
  const words = typeof failure === 'string' ? failure : ''
  const parts = typeof failureCode === 'string' ? failureCode.toUpperCase().split('.') : []
  if (parts.includes('SAFETY')) return { kind: 'failed', code: 'CONTENT_REFUSED', words }
  // An input file that cannot be used will not be usable next time. Everything else may have been bad luck.
  return { kind: 'failed', words, retryable: parts[0] !== 'ASSET' }
}
