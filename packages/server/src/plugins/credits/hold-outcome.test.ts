import type { TerminalStatus } from '@holdfast/shared'
import { describe, expect, it } from 'vitest'
import type { CancelPolicy } from '../../tasks/task-types.ts'
import { type HoldOutcome, holdOutcome } from './hold-outcome.ts'

/** What ended it, and whether the provider had accepted it by then. */
type End = `${TerminalStatus | 'cancelled by the provider'}, ${'waiting' | 'started'}`

const ALWAYS = {
  'completed, waiting': 'capture',
  'completed, started': 'capture',
  'failed, waiting': 'refund',
  'failed, started': 'refund',
  'cancelled by the provider, waiting': 'refund',
  'cancelled by the provider, started': 'refund',
} as const

/** Every end under every policy. The compiler sees to it that none is missing. */
const TABLE: Record<CancelPolicy, Record<End, HoldOutcome>> = {
  refund: { ...ALWAYS, 'cancelled, waiting': 'refund', 'cancelled, started': 'refund' },
  capture: { ...ALWAYS, 'cancelled, waiting': 'capture', 'cancelled, started': 'capture' },
  'refund-before-start': { ...ALWAYS, 'cancelled, waiting': 'refund', 'cancelled, started': 'capture' },
}

describe('how a hold ends (F13)', () => {
  it.each(
    Object.entries(TABLE).flatMap(([policy, ends]) =>
      Object.entries(ends).map(([end, outcome]) => [policy as CancelPolicy, end, outcome] as const),
    ),
  )('%s: %s → %s', (policy, end, outcome) => {
    const [how = '', when] = end.split(', ')
    const status = (how === 'cancelled by the provider' ? 'cancelled' : how) as TerminalStatus
    const by = how === 'cancelled by the provider' ? 'provider' : 'user'
    const startedAt = when === 'started' ? new Date() : null
    expect(holdOutcome({ status, startedAt }, { policy, by })).toBe(outcome)
  })
})
