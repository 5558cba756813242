import { asRecord, parseJson } from '../../read-json.ts'
import type { Phase, SimulatedTask } from '../../simulation/simulated-task.ts'

/** Words in brackets that only this simulator knows. */
export const DREAM_MACHINE_WORDS = {
  'bad-frame': 'with [fail]: an input frame that could not be read',
  'no-assets': 'completed without assets',
}

const STATES: Record<Phase, string> = {
  queued: 'queued',
  working: 'dreaming',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
}

/** A generation as every answer and every callback shows it. */
export function generationObject(
  task: SimulatedTask,
  { phase, says }: { phase: Phase; says?: string | null },
  urls: () => string[],
) {
  const isDone = phase === 'succeeded' && !('no-assets' in task.behaviours)
  const [url] = isDone ? urls() : []
  return {
    id: task.taskId,
    generation_type: task.makesVideo ? 'video' : 'image',
    state: says ?? STATES[phase],
    failure_reason: phase === 'failed' ? failureOf(task) : null,
    created_at: new Date(task.createdAt).toISOString(),
    assets: url ? { [task.makesVideo ? 'video' : 'image']: url } : null,
    model: task.model,
    request: asRecord(parseJson(task.request)),
  }
}

function failureOf({ behaviours }: SimulatedTask): string {
  if ('nsfw' in behaviours) return 'Prompt moderation failed'
  return 'bad-frame' in behaviours ? 'Failed to read user input frames' : 'Job failed'
}
