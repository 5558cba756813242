import type { Task } from '@holdfast/shared'
import { expect, test } from 'vitest'
import { restoredText, settledText } from './notice-text.ts'

const task: Pick<Task, 'type' | 'status' | 'params' | 'failure'> = {
  type: 'image',
  status: 'completed',
  params: { prompt: 'A lighthouse' },
  failure: null,
}

test('a finish, a cancel and a failure are told apart', () => {
  expect(settledText(task)).toBe('Image ready: A lighthouse')
  expect(settledText({ ...task, type: 'video', status: 'cancelled' })).toBe('Video cancelled: A lighthouse')
  const failure = { code: 'CONTENT_REFUSED', message: 'The prompt was refused.', retryable: false } as const
  expect(settledText({ ...task, status: 'failed', failure })).toBe(
    'Image failed: A lighthouse. The prompt was refused.',
  )
})

test('what goes on is not announced', () => {
  expect(settledText({ ...task, status: 'running' })).toBeNull()
})

test('C8: the number of restored generations counts the unfinished ones', () => {
  expect(restoredText([{ status: 'running' }, { status: 'pending' }, { status: 'completed' }])).toBe(
    '2 generations restored',
  )
  expect(restoredText([{ status: 'pending' }])).toBe('1 generation restored')
  expect(restoredText([{ status: 'completed' }])).toBeNull()
})
