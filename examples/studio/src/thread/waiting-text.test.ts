import { toPlaceholder } from '@holdfast/client'
import { describe, expect, it } from 'vitest'
import { trackedTask } from '../testing/tracked-task.ts'
import { waitingText } from './waiting-text.ts'

const NOW = Date.parse('2026-01-01T00:00:00.000Z')
const text = (given: Parameters<typeof trackedTask>[0]) =>
  waitingText(toPlaceholder(trackedTask({ status: 'pending', ...given }), NOW), NOW)
const until = (seconds: number) => ({
  reason: 'RATE_LIMITED' as const,
  message: 'Too many.',
  retryAt: new Date(NOW + seconds * 1_000).toISOString(),
})

describe('what a card waits for', () => {
  it('is its turn, to be sent, or why it is not sent and until when', () => {
    expect(text({})).toBe('for its turn')
    expect(text({ unsent: true })).toBe('to be sent')
    expect(text({ unsent: true, waiting: until(46) })).toBe('to be sent: too many at once, again in 46 s')
    expect(text({ unsent: true, waiting: until(1) })).toBe('to be sent: too many at once')
    expect(text({ unsent: true, waiting: { ...until(1), reason: 'INTERNAL', message: 'Broken.' } })).toBe(
      'to be sent: Broken.',
    )
    expect(text({ status: 'running' })).toBeNull()
  })
})
