import type { Task } from '@holdfast/shared'

/** Of the size that an ordinary task has on the wire. */
export const sampleTask: Task = {
  id: '0199d2a0-0000-7000-8000-000000000001',
  type: 'image',
  provider: 'idle',
  status: 'running',
  progress: 1,
  params: {
    prompt: 'A lighthouse on a basalt cliff at dusk, long exposure, sea mist, warm light, wide angle',
  },
  result: null,
  failure: null,
  conversationId: null,
  placeholderId: null,
  messageId: null,
  saveState: 'none',
  parentId: null,
  retryOf: null,
  credits: { held: 0, spent: 0, returned: 0 },
  estimatedAt: '2026-11-16T10:00:30.000Z',
  lane: 'free_default',
  priority: 5,
  metadata: {},
  version: 2,
  createdAt: '2026-11-16T10:00:00.000Z',
  startedAt: '2026-11-16T10:00:01.000Z',
  finishedAt: null,
  deadlineAt: '2026-11-16T10:10:00.000Z',
  updatedAt: '2026-11-16T10:00:01.000Z',
}
