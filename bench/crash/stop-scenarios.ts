import type { Scenario } from './scenario.ts'

/** A server that is told to stop, and is killed before it has: what it still has in hand must not be lost. */
export const STOP_SCENARIOS: readonly Scenario[] = [
  {
    name: 'stopped as it is sent',
    type: 'image',
    prompt: 'a lighthouse [fast]',
    armAt: 'work/send/run-send.ts',
    around: [
      'engine/run-work.ts',
      'work/send/send-kind.ts',
      'create-holdfast.ts',
      'work/workers.ts',
      'work/provider-work.ts',
      'work/deliver/deliver-kind.ts',
      'concurrency/limiter.ts',
      'concurrency/batcher.ts',
      'work/poll/progress-writer.ts',
      'engine/budgets.ts',
      'work/send/accept-task.ts',
      'providers/kie/kie.ts',
      'database/replace-after-loss.ts',
    ],
    ends: { status: 'completed', code: null },
    maxSends: 1,
    stopped: 'sending',
    told: 'again',
  },
  {
    name: 'stopped as it is copied',
    type: 'image',
    prompt: 'a lighthouse [fast] [media-slow:1]',
    armAt: 'tasks/settle-together.ts',
    around: [
      'create-holdfast.ts',
      'work/workers.ts',
      'work/copy/',
      'engine/run-work.ts',
      'artifacts/',
      'objects/',
      'database/replace-after-loss.ts',
    ],
    ends: { status: 'completed', code: null },
    maxSends: 1,
    stopped: 'copying',
    mirror: true,
  },
]
