import { asRecord, parseJson } from '../../read-json.ts'
import { endOf, type SimulatedTask, stateAt } from '../../simulation/simulated-task.ts'

const STATUSES = {
  queued: 'starting',
  working: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'canceled',
} as const

export interface PredictionOptions {
  now: number
  /** Of the API, such as `http://127.0.0.1:8789/v1`. */
  baseUrl: string
  urls: string[]
  /** How long after the end inputs, outputs and logs are kept. */
  keptMs: number
}

/** A prediction as `GET /predictions/{id}` shows it. */
export function predictionOfTask(task: SimulatedTask, { now, baseUrl, urls, keptMs }: PredictionOptions) {
  const { behaviours } = task
  const { phase, says, startedAt, endedAt, progress } = stateAt(task, now)
  const asked = asRecord(parseJson(task.request))
  const end = endOf(task)
  const isRemoved = endedAt !== null && ('removed' in behaviours || now >= (end ?? now) + keptMs)
  const wasAborted = phase === 'cancelled' && 'aborted' in behaviours
  const bar = `${String(progress).padStart(3)}%|${'█'.repeat(Math.floor(progress / 10)).padEnd(10)}| ${Math.floor(progress / 2)}/50 [00:01<00:01, 25.0it/s]\n`
  return {
    id: task.taskId,
    model: task.model.includes('/') ? task.model : 'hidden/model',
    version: typeof asked?.version === 'string' ? asked.version : 'hidden',
    status: says ?? (wasAborted ? 'aborted' : STATUSES[phase]),
    input: isRemoved ? {} : (asked?.input ?? {}),
    output: phase === 'succeeded' && !isRemoved ? outputOf(task, urls) : null,
    error: phase === 'failed' ? errorOf(task) : null,
    logs: isRemoved || startedAt === null ? '' : `Using seed: 7\n${bar}`,
    source: 'api',
    data_removed: isRemoved,
    metrics: endedAt === null ? {} : { predict_time: (endedAt - (startedAt ?? endedAt)) / 1000 },
    ...(task.callbackUrl === null ? {} : { webhook: task.callbackUrl }),
    created_at: iso(task.createdAt),
    started_at: iso(startedAt),
    completed_at: iso(endedAt),
    urls: {
      get: `${baseUrl}/predictions/${task.taskId}`,
      cancel: `${baseUrl}/predictions/${task.taskId}/cancel`,
      web: `https://replicate.com/p/${task.taskId}`,
    },
  }
}

function outputOf({ behaviours, makesVideo }: SimulatedTask, urls: string[]): unknown {
  if ('null-output' in behaviours) return null
  if ('text-output' in behaviours) return 'No picture, but words.'
  if ('string-output' in behaviours) return urls[0]
  if ('array-output' in behaviours) return urls
  if ('object-output' in behaviours) return { image: urls[0], seed: 7, more: urls.slice(1) }
  return makesVideo && urls.length === 1 ? urls[0] : urls
}

function errorOf({ behaviours }: SimulatedTask): string {
  return 'nsfw' in behaviours
    ? 'NSFW content detected. Try running it again, or try a different prompt.'
    : 'Prediction interrupted; please retry (code: PA)'
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
