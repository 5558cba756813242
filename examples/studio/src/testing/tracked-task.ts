import type { TrackedTask } from '@holdfast/client'

/** A task for tests: running in conversation `a`, started in this tab. */
export function trackedTask(changes: Partial<TrackedTask>): TrackedTask {
  return {
    id: 't',
    type: 'image',
    provider: 'kie',
    status: 'running',
    progress: null,
    queuePosition: null,
    params: { prompt: 'A lighthouse' },
    result: null,
    failure: null,
    conversationId: 'a',
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
    createdAt: '2026-05-12T12:00:01.000Z',
    startedAt: null,
    finishedAt: null,
    deadlineAt: null,
    updatedAt: '2026-05-12T12:00:01.000Z',
    origin: 'this-tab',
    stale: false,
    ...changes,
  }
}
