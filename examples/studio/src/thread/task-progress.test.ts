import { expect, test } from 'vitest'
import { taskProgress } from './task-progress.ts'

const start = Date.UTC(2026, 4, 12, 12)
const timed = {
  progress: null,
  startedAt: new Date(start).toISOString(),
  estimatedAt: new Date(start + 20_000).toISOString(),
}

test('what the provider reports wins', () => {
  expect(taskProgress({ ...timed, progress: 41.6 }, start)).toEqual({ kind: 'reported', percent: 42 })
})

test.each([
  [-3_000, 0],
  [5_000, 25],
  [19_999, 95],
  [90_000, 95],
])('%i ms after the start the estimate is %i per cent', (elapsed, percent) => {
  expect(taskProgress(timed, start + elapsed)).toEqual({ kind: 'estimated', percent })
})

test.each([
  { ...timed, startedAt: null },
  { ...timed, estimatedAt: null },
  { ...timed, estimatedAt: timed.startedAt },
  { ...timed, estimatedAt: 'soon' },
])('without a start and a later estimate it is unknown', (task) => {
  expect(taskProgress(task, start)).toEqual({ kind: 'unknown' })
})
