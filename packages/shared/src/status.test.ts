import { describe, expect, it } from 'vitest'
import { isTerminal, TASK_STATUSES, type TaskStatus, TRANSITIONS, type TransitionRule } from './status.ts'

/** F9 once more, written by hand and as a Record, so that the compiler asks about every new pair. */
const EXPECTED: Record<TaskStatus, Record<TaskStatus, TransitionRule>> = {
  pending: {
    pending: 'stay',
    running: 'allowed',
    completed: 'refused',
    failed: 'allowed',
    cancelled: 'allowed',
  },
  running: {
    pending: 'requeue',
    running: 'stay',
    completed: 'allowed',
    failed: 'allowed',
    cancelled: 'allowed',
  },
  completed: {
    pending: 'refused',
    running: 'refused',
    completed: 'stay',
    failed: 'refused',
    cancelled: 'refused',
  },
  failed: {
    pending: 'refused',
    running: 'refused',
    completed: 'refused',
    failed: 'stay',
    cancelled: 'refused',
  },
  cancelled: {
    pending: 'refused',
    running: 'refused',
    completed: 'refused',
    failed: 'refused',
    cancelled: 'stay',
  },
}
const pairs = TASK_STATUSES.flatMap((from) => TASK_STATUSES.map((to) => ({ from, to })))

describe('the life of a task (F9)', () => {
  it('has exactly five statuses', () => {
    expect([...TASK_STATUSES].sort()).toEqual(Object.keys(EXPECTED).sort())
  })

  it.each(pairs)('$from → $to', ({ from, to }) => {
    expect(TRANSITIONS[from][to]).toBe(EXPECTED[from][to])
  })

  it.each(TASK_STATUSES)('%s is terminal exactly if nothing leads out of it', (status) => {
    const waysOut = TASK_STATUSES.filter((to) => ['allowed', 'requeue'].includes(TRANSITIONS[status][to]))
    expect(isTerminal(status)).toBe(waysOut.length === 0)
  })

  it('reaches completed only through running', () => {
    const into = TASK_STATUSES.filter((from) => TRANSITIONS[from].completed === 'allowed')
    expect(into).toEqual(['running'])
  })
})
