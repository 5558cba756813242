import type { Scenario } from './scenario.ts'

/** A server that is told to stop, and is killed before it has: what it still has in hand must not be lost. */
export const STOP_SCENARIOS: readonly Scenario[] = [
  {
    name: 'stopped as it is sent',
    type: 'image',
    prompt: 'a lighthouse [fast]',
    armAt: 'engine/run-submit.ts',
    around: [
      'create-holdfast.ts',
      'engine/engine.ts',
      'engine/run-provider.ts',
      'engine/run-deliveries.ts',
      'engine/create-line.ts',
      'engine/create-batcher.ts',
      'engine/progress-writer.ts',
      'engine/budgets.ts',
      'tasks/accept-task.ts',
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
    armAt: 'artifacts/write-artifacts.ts',
    around: [
      'create-holdfast.ts',
      'engine/engine.ts',
      'engine/run-mirror',
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
