import { endOf, type SimulatedTask, type TaskState } from '../../simulation/simulated-task.ts'
import { readFields } from './read-fields.ts'

/** Words in brackets that only this simulator knows. */
export const OPENAI_VIDEOS_WORDS = {
  expired: 'ends as `expired`, as some gateways say',
  'bad-input': 'with [fail]: the request itself was wrong',
  'no-expiry': 'completed, without a word on when the file goes',
  'no-progress': 'never tells progress',
}

const STATUSES = {
  queued: 'queued',
  working: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
}

/** When the bytes of a finished video go; null if that is not told. */
export function expiryOf(task: SimulatedTask, fileTtlMs: number): number | null {
  const end = endOf(task)
  return end === null || 'no-expiry' in task.behaviours ? null : end + fileTtlMs
}

/** A video as every answer shows it. Unfinished ones leave out what is not known yet. */
export function videoObject(task: SimulatedTask, state: TaskState, fileTtlMs: number) {
  const { behaviours } = task
  const isOver = state.endedAt !== null
  const expiresAt = expiryOf(task, fileTtlMs)
  const { seconds = '4', size = '720x1280' } = readFields(task.request) ?? {}
  return {
    id: task.taskId,
    object: 'video',
    model: task.model,
    status: isOver && 'expired' in behaviours ? 'expired' : (state.says ?? STATUSES[state.phase]),
    ...('no-progress' in behaviours ? {} : { progress: state.progress }),
    created_at: inSeconds(task.createdAt),
    seconds,
    size,
    ...(isOver
      ? {
          prompt: task.prompt,
          completed_at: state.phase === 'succeeded' ? inSeconds(state.endedAt ?? 0) : null,
          expires_at: state.phase === 'succeeded' && expiresAt !== null ? inSeconds(expiresAt) : null,
          remixed_from_video_id: null,
          error: state.phase === 'failed' ? errorOf(task) : null,
        }
      : {}),
  }
}

function errorOf({ behaviours }: SimulatedTask) {
  if ('nsfw' in behaviours) {
    return { code: 'moderation_blocked', message: 'Your request was blocked by our moderation system.' }
  }
  if ('bad-input' in behaviours) {
    return { code: 'invalid_input_reference', message: 'The reference image has another size.' }
  }
  return { code: 'video_generation_failed', message: 'The video could not be generated.' }
}

function inSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}
