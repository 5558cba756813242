import type { TrackedTask } from '../src/index.ts'

/** A task with every field set, where only some matter. */
export function trackedTask(given: Partial<TrackedTask> = {}): TrackedTask {
  return {
    id: 'task-1',
    type: 'image',
    provider: 'kie',
    status: 'pending',
    progress: null,
    queuePosition: null,
    params: {},
    result: null,
    failure: null,
    conversationId: null,
    placeholderId: null,
    messageId: null,
    saveState: 'none',
    parentId: null,
    retryOf: null,
    credits: { held: 0, spent: 0, returned: 0 },
    estimatedAt: null,
    lane: 'free_default',
    priority: 5,
    metadata: {},
    attempts: 0,
    lastError: null,
    nextAttemptAt: null,
    version: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
    startedAt: null,
    finishedAt: null,
    deadlineAt: null,
    updatedAt: '2026-01-01T00:00:00.000Z',
    origin: 'this-tab',
    stale: false,
    ...given,
  }
}
