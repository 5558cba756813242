import type { SimulatedTask, TaskState } from '../../simulation/simulated-task.ts'

/** Words in brackets that only this simulator knows. */
export const LUMA_AGENTS_WORDS = {
  budget: 'with [fail]: the budget is exhausted',
  'lost-output': 'with [fail]: the output was not found',
  'empty-result': 'completed without an output',
}

const STATES = {
  queued: 'queued',
  working: 'processing',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
}

/** A generation as every answer shows it. `urls` are made for this very reply. */
export function generationObject(
  task: SimulatedTask,
  kind: string,
  { phase, says }: TaskState,
  urls: () => string[],
) {
  const files = phase === 'succeeded' && !('empty-result' in task.behaviours) ? urls() : []
  return {
    id: task.taskId,
    type: kind,
    state: says ?? STATES[phase],
    model: task.model,
    created_at: new Date(task.createdAt).toISOString(),
    output: files.map((url) => ({ type: task.makesVideo ? 'video' : 'image', url })),
    ...(phase === 'failed' ? failureOf(task) : { failure_reason: null, failure_code: null }),
  }
}

function failureOf({ behaviours }: SimulatedTask) {
  if ('nsfw' in behaviours) {
    return { failure_reason: 'The request was blocked.', failure_code: 'content_moderated' }
  }
  if ('budget' in behaviours) {
    return { failure_reason: 'The budget is spent.', failure_code: 'budget_exhausted' }
  }
  if ('lost-output' in behaviours) {
    return { failure_reason: 'The output is missing.', failure_code: 'output_not_found' }
  }
  return { failure_reason: 'Something went wrong.', failure_code: 'generation_failed' }
}
