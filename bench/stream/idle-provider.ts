import type { Provider } from '../../packages/server/src/providers/provider.ts'
import { defaultTaskTypes, type TaskTypes } from '../../packages/server/src/tasks/task-types.ts'

/** Nothing is ever asked of it. */
export const idleProvider: Provider = {
  name: 'idle',
  limits: {
    create: { perSecond: 1, burst: 1, inFlight: 1 },
    query: { perSecond: 1, burst: 1, inFlight: 1 },
    callTimeoutMs: 1_000,
    minPollMs: 1_000,
    notFoundGraceMs: 1_000,
  },
  create: async () => ({ kind: 'unknown', reason: 'idle' }),
  query: async () => ({ kind: 'running', progress: null }),
  close: async () => {},
}

export const idleTypes: TaskTypes = Object.fromEntries(
  Object.entries(defaultTaskTypes).map(([name, type]) => [name, { ...type, provider: 'idle' }]),
)
