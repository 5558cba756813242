import type { Reply } from '../../simulation/reply.ts'
import { endOf, type SimulatedTask, stateAt } from '../../simulation/simulated-task.ts'

export interface RequestUrls {
  status_url: string
  response_url: string
  cancel_url: string
}

const STATUSES = {
  queued: 'IN_QUEUE',
  working: 'IN_PROGRESS',
  // There is no other word for the end, however it went.
  succeeded: 'COMPLETED',
  failed: 'COMPLETED',
  cancelled: 'COMPLETED',
} as const

/** Results are kept for an hour, large ones for six minutes. */
const KEPT_MS = 60 * 60_000
const LARGE_KEPT_MS = 6 * 60_000

export function statusOfTask(task: SimulatedTask, now: number, urls: RequestUrls, withLogs: boolean): Reply {
  const { phase, says, progress, startedAt, endedAt } = stateAt(task, now)
  const message = `${String(progress).padStart(3)}%|${'█'.repeat(progress / 10).padEnd(10)}| ${Math.floor(progress / 2)}/50`
  const line = { message, level: 'INFO', source: 'USER', timestamp: new Date(now).toISOString() }
  const tellsError =
    endedAt !== null &&
    ((phase === 'cancelled' && !('cancel-odd' in task.behaviours)) || 'status-error' in task.behaviours)
  return {
    status: endedAt === null ? 202 : 200,
    json: {
      status: says ?? STATUSES[phase],
      request_id: task.taskId,
      ...urls,
      ...(phase === 'queued' ? { queue_position: 0 } : {}),
      logs: withLogs ? (startedAt === null ? [] : [line]) : null,
      ...(endedAt === null ? {} : { metrics: { inference_time: (endedAt - (startedAt ?? endedAt)) / 1000 } }),
      ...(tellsError ? errorOf(phase) : {}),
    },
  }
}

function errorOf(phase: string) {
  return phase === 'cancelled'
    ? { error: 'Request was cancelled', error_type: 'request_cancelled' }
    : { error: 'Invalid status code: 503', error_type: 'runner_disconnected' }
}

export function resultOfTask(task: SimulatedTask, now: number, urls: string[]): Reply {
  const { behaviours } = task
  const { phase, endedAt } = stateAt(task, now)
  const end = endOf(task)
  if (endedAt === null || end === null)
    return { status: 400, json: { detail: 'Request is still in progress' } }
  const keptMs = 'large' in behaviours ? LARGE_KEPT_MS : KEPT_MS
  if (now > end + keptMs || 'gone' in behaviours)
    return { status: 404, json: { detail: 'Request not found' } }
  if ('garbage-result' in behaviours) return { status: 200, text: '{"images":[{"ur' }
  if ('proxy-result' in behaviours) return { status: 502, text: '<html>502</html>' }
  if ('broken-result' in behaviours) return { status: 500, json: { detail: 'Internal Server Error' } }
  if (phase === 'cancelled') {
    const detail = 'cancel-odd' in behaviours ? 'The client is gone' : 'Request was cancelled'
    return { status: 400, json: { detail } }
  }
  if (phase === 'failed') return failureOf(task)
  return { status: 200, headers: { 'x-fal-request-id': task.taskId }, json: outputOf(task, urls) }
}

function failureOf({ behaviours }: SimulatedTask): Reply {
  if ('nsfw' in behaviours) {
    return modelError('content_policy_violation', 'The content could not be processed.')
  }
  if ('invalid' in behaviours) return modelError('value_error', 'image_size is too large')
  if ('detail-text' in behaviours) return { status: 422, json: { detail: 'The image could not be read' } }
  if ('start-timeout' in behaviours) {
    return {
      status: 504,
      headers: { 'x-fal-request-timeout-type': 'user', 'x-fal-error-type': 'request_timeout' },
      json: { detail: 'The request did not start in time', error_type: 'request_timeout' },
    }
  }
  return {
    status: 503,
    headers: { 'x-fal-error-type': 'runner_disconnected' },
    json: { detail: 'The runner disconnected', error_type: 'runner_disconnected' },
  }
}

function modelError(type: string, msg: string): Reply {
  return {
    status: 422,
    headers: { 'x-fal-retryable': 'false' },
    json: { detail: [{ loc: ['body', 'prompt'], msg, type, input: {} }] },
  }
}

export function outputOf(task: SimulatedTask, urls: string[]): unknown {
  if ('no-files' in task.behaviours) return { text: 'No picture, but words.' }
  const files = urls.map((url, index) => ({
    url,
    content_type: task.makesVideo ? 'video/mp4' : 'image/png',
    file_name: `${index}.${task.makesVideo ? 'mp4' : 'png'}`,
    width: 768,
    height: 768,
  }))
  return task.makesVideo ? { video: files[0] } : { images: files, seed: 7, prompt: task.prompt }
}
