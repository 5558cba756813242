import { describe, expect, it } from 'vitest'
import { isOverdue } from './deadline.ts'
import { isTerminal, TASK_STATUSES } from './status.ts'

const deadlineAt = '2026-01-01T00:10:00.000Z'
const deadline = Date.parse(deadlineAt)

describe('isOverdue (C7)', () => {
  it.each(TASK_STATUSES)('%s: past its deadline only if it can still be', (status) => {
    expect(isOverdue({ status, deadlineAt }, deadline + 1)).toBe(!isTerminal(status))
  })

  it('begins at the deadline itself', () => {
    expect(isOverdue({ status: 'running', deadlineAt }, deadline - 1)).toBe(false)
    expect(isOverdue({ status: 'running', deadlineAt }, deadline)).toBe(true)
  })

  it('never comes for a task that has no deadline yet', () => {
    expect(isOverdue({ status: 'pending', deadlineAt: null }, Number.MAX_SAFE_INTEGER)).toBe(false)
  })
})
