import { TASK_STATUSES } from '@holdfast/shared'
import { describe, expect, it } from 'vitest'
import { trackedTask } from '../../test/tracked-task.ts'
import { toPlaceholder, toPlaceholders } from './placeholder.ts'

const now = Date.parse('2026-01-01T00:10:00.000Z')

describe('toPlaceholder', () => {
  it('F7: is dated by the start of the task, and named after it when nobody gave a name', () => {
    const waiting = trackedTask({ id: 'a' })
    expect(toPlaceholder(waiting, now)).toMatchObject({ id: 'placeholder-a', startedAt: waiting.createdAt })
    const working = trackedTask({ placeholderId: 'card', startedAt: '2026-01-01T00:01:00.000Z' })
    expect(toPlaceholder(working, now)).toMatchObject({ id: 'card', startedAt: working.startedAt })
  })

  it('has a state for every status', () => {
    const states = TASK_STATUSES.map((status) => toPlaceholder(trackedTask({ status }), now).state)
    expect(states).toEqual(['waiting', 'working', 'done', 'failed', 'cancelled'])
  })

  it('C7: shows an unfinished task past its deadline as failed, and a finished one as it is', () => {
    const deadlineAt = '2026-01-01T00:10:00.000Z'
    const running = trackedTask({ status: 'running', deadlineAt })
    expect(toPlaceholder(running, now - 1)).toMatchObject({ state: 'working', failure: null })
    expect(toPlaceholder(running, now)).toMatchObject({
      state: 'failed',
      failure: { code: 'DEADLINE_EXCEEDED', retryable: false },
    })
    expect(toPlaceholder(trackedTask({ status: 'completed', deadlineAt }), now)).toMatchObject({
      state: 'done',
      failure: null,
    })
  })
})

describe('toPlaceholders', () => {
  const first = trackedTask({ id: 'a', status: 'failed', createdAt: '2026-01-01T00:01:00.000Z' })
  const other = trackedTask({ id: 'b', createdAt: '2026-01-01T00:02:00.000Z' })
  const second = trackedTask({
    id: 'c',
    retryOf: 'a',
    status: 'failed',
    createdAt: '2026-01-01T00:03:00.000Z',
  })
  const third = trackedTask({ id: 'd', retryOf: 'c', createdAt: '2026-01-01T00:04:00.000Z' })

  it('F9: a retry takes over the placeholder, through any number of retries', () => {
    const shown = toPlaceholders([third, first, other, second], now)
    expect(shown.map(({ id, taskId }) => [id, taskId])).toEqual([
      ['placeholder-b', 'b'],
      ['placeholder-a', 'd'],
    ])
  })

  it('F9: a device that never saw the first attempt agrees on the id', () => {
    expect(toPlaceholders([second], now).map(({ id }) => id)).toEqual(['placeholder-a'])
    const named = trackedTask({ id: 'e', retryOf: 'gone', placeholderId: 'card' })
    expect(toPlaceholders([named], now).map(({ id }) => id)).toEqual(['card'])
  })
})
