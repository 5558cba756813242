import type { SimulatedTask, TaskState } from '../../simulation/simulated-task.ts'
import { THROTTLED } from './hold-back.ts'

/** Words in brackets that only this simulator knows. */
export const RUNWAY_WORDS = {
  throttled: 'held as THROTTLED in the first 3 polls (or the number given)',
  'bad-output': 'with [fail]: rejected for quality, INTERNAL.BAD_OUTPUT',
  asset: 'with [fail]: an input file that cannot be used, ASSET.INVALID',
  'no-code': 'with [fail]: no failureCode',
  'empty-result': 'SUCCEEDED without an output',
  'late-result': 'SUCCEEDED without an output in the first 2 polls that see it (or the number given)',
}

const CREDITS = { video: 25, image: 5 }

export function creditsOf({ makesVideo }: SimulatedTask): number {
  return makesVideo ? CREDITS.video : CREDITS.image
}

/** A task as `GET /v1/tasks/{id}` shows it. `urls` are made for this very reply. */
export function taskObject(task: SimulatedTask, state: TaskState, urls: () => string[]) {
  const { behaviours } = task
  const base = { id: task.taskId, createdAt: new Date(task.createdAt).toISOString() }
  const estimatedCost = { credits: creditsOf(task) }
  if ('throttled' in behaviours && task.polls <= (behaviours.throttled ?? 3)) {
    return { ...base, status: THROTTLED, estimatedCost }
  }
  switch (state.phase) {
    case 'queued':
      return { ...base, status: state.says ?? 'PENDING', estimatedCost }
    case 'working':
      return { ...base, status: state.says ?? 'RUNNING', progress: state.progress / 100, estimatedCost }
    case 'succeeded':
      return {
        ...base,
        status: 'SUCCEEDED',
        output: hasNoResult(task) ? [] : urls(),
        cost: estimatedCost,
      }
    case 'failed':
      return { ...base, status: 'FAILED', ...failureOf(task), cost: { credits: 0 } }
    case 'cancelled':
      return { ...base, status: 'CANCELLED', cost: { credits: 0 } }
  }
}

function hasNoResult({ behaviours }: SimulatedTask): boolean {
  if ('empty-result' in behaviours) return true
  if (!('late-result' in behaviours)) return false
  const seen = (behaviours['late-seen'] ?? 0) + 1
  behaviours['late-seen'] = seen
  return seen <= (behaviours['late-result'] ?? 2)
}

function failureOf({ behaviours }: SimulatedTask) {
  if ('nsfw' in behaviours) {
    return { failure: 'Text did not pass content moderation.', failureCode: 'SAFETY.INPUT.TEXT' }
  }
  if ('asset' in behaviours) {
    return { failure: 'The image could not be read.', failureCode: 'ASSET.INVALID' }
  }
  if ('bad-output' in behaviours) {
    return { failure: 'An unexpected error occurred.', failureCode: 'INTERNAL.BAD_OUTPUT.CODE01' }
  }
  const failure = 'An unexpected error occurred.'
  return 'no-code' in behaviours ? { failure } : { failure, failureCode: 'INTERNAL' }
}
