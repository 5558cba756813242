import { describe, expect, it } from 'vitest'
import { TASK_STATUSES, type TaskStatus } from './status.ts'
import { nameChange, type TaskChange } from './stream.ts'
import type { Task } from './task.ts'

function task(status: TaskStatus, progress: number | null = null): Task {
  return {
    id: '0199d2a0-0000-7000-8000-000000000001',
    type: 'image',
    provider: 'kie',
    status,
    progress,
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
  }
}

const ARRIVAL: Record<TaskStatus, TaskChange> = {
  pending: 'submitted',
  running: 'started',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
}

describe('nameChange (E1)', () => {
  it.each(TASK_STATUSES)('names a task first seen as %s by how it got there', (status) => {
    expect(nameChange(undefined, task(status))).toBe(ARRIVAL[status])
  })

  it.each(
    TASK_STATUSES.flatMap((from) => TASK_STATUSES.filter((to) => to !== from).map((to) => ({ from, to }))),
  )('names $from → $to by where it arrived', ({ from, to }) => {
    expect(nameChange({ status: from, progress: 10 }, task(to, 10))).toBe(ARRIVAL[to])
  })

  it('names a failure that was left for an operator', () => {
    const failure = { code: 'SUBMIT_REFUSED', message: 'no', retryable: true, deadLettered: true } as const
    const given = { ...task('failed'), failure }
    expect(nameChange({ status: 'pending', progress: null }, given)).toBe('dead-lettered')
    expect(nameChange({ status: 'failed', progress: null }, given)).toBe('updated')
  })

  it('names a change of progress alone', () => {
    expect(nameChange({ status: 'running', progress: null }, task('running', 1))).toBe('progress')
    expect(nameChange({ status: 'running', progress: 1 }, task('running', 2))).toBe('progress')
  })

  it('names anything else an update', () => {
    expect(nameChange({ status: 'completed', progress: 100 }, task('completed', 100))).toBe('updated')
  })
})
