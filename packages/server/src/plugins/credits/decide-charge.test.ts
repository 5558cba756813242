import { FAILURE_CODES } from '@holdfast/shared'
import { describe, expect, it } from 'vitest'
import type { CancelPolicy } from '../../tasks/task-types.ts'
import { type ChargeQuestion, decideCharge, type End, type VendorSide } from './decide-charge.ts'

type Outcome = 'captured' | 'refunded' | 'waits'
type Row = Record<VendorSide, Outcome>

const always = (outcome: Outcome): Row => ({
  nothing: outcome,
  maybe: outcome,
  lost: outcome,
  accepted: outcome,
  finished: outcome,
})

/** Ends that no policy has a say in. The compiler sees to it that none is missing. */
const SETTLED: Record<Exclude<End, 'cancelled by the user'>, Row> = {
  completed: always('captured'),
  'cancelled by the provider': always('refunded'),
  SUBMIT_UNKNOWN: always('refunded'),
  SUBMIT_REFUSED: always('refunded'),
  CONTENT_REFUSED: always('refunded'),
  PROVIDER_AUTH: always('refunded'),
  PROVIDER_QUOTA: always('refunded'),
  PROVIDER_FAILED: always('refunded'),
  TASK_NOT_FOUND: always('refunded'),
  RESULT_UNREADABLE: always('refunded'),
  DEADLINE_EXCEEDED: always('refunded'),
  WAIT_EXCEEDED: always('refunded'),
  SILENT_TOO_LONG: always('refunded'),
}

/** What a user's own cancel costs. */
const CANCELLED: Record<CancelPolicy, Row> = {
  refund: always('refunded'),
  capture: always('captured'),
  'refund-before-start': {
    nothing: 'refunded',
    maybe: 'waits',
    lost: 'refunded',
    accepted: 'captured',
    finished: 'captured',
  },
}

const POLICIES = Object.keys(CANCELLED) as CancelPolicy[]
const TABLE: Record<CancelPolicy, Record<End, Row>> = {
  refund: { ...SETTLED, 'cancelled by the user': CANCELLED.refund },
  capture: { ...SETTLED, 'cancelled by the user': CANCELLED.capture },
  'refund-before-start': { ...SETTLED, 'cancelled by the user': CANCELLED['refund-before-start'] },
}

const ask = (changes: Partial<ChargeQuestion>) =>
  decideCharge({
    end: 'completed',
    vendor: 'finished',
    policy: 'refund-before-start',
    held: 4,
    cost: null,
    beyond: 0,
    ...changes,
  })

const MEANS: Record<Outcome, ReturnType<typeof decideCharge>> = {
  captured: { kind: 'capture', amount: 4, shortfall: 0 },
  refunded: { kind: 'refund' },
  waits: { kind: 'wait' },
}

describe('who pays', () => {
  it.each(POLICIES)('every end under the policy %s, whatever the provider was made to do', (policy) => {
    const ends = Object.entries(TABLE[policy]) as [End, Row][]
    expect(ends).toHaveLength(FAILURE_CODES.length + 3)
    for (const [end, row] of ends) {
      for (const [vendor, outcome] of Object.entries(row) as [VendorSide, Outcome][]) {
        expect(ask({ end, vendor, policy }), `${end}, ${vendor}`).toEqual(MEANS[outcome])
      }
    }
  })

  it.each([
    { cost: 3, beyond: 0, amount: 3, shortfall: 0 },
    { cost: 0, beyond: 0, amount: 0, shortfall: 0 },
    { cost: 9, beyond: 0, amount: 4, shortfall: 5 },
    { cost: 9, beyond: 3, amount: 7, shortfall: 2 },
    { cost: 9, beyond: 100, amount: 9, shortfall: 0 },
  ])('a result that cost $cost with $beyond to spare: $amount, and $shortfall missing', (each) => {
    const { cost, beyond, amount, shortfall } = each
    expect(ask({ cost, beyond })).toEqual({ kind: 'capture', amount, shortfall })
  })

  it('what a result would have cost does not matter where there is none', () => {
    expect(ask({ end: 'cancelled by the user', vendor: 'accepted', cost: 1, beyond: 50 })).toEqual(
      MEANS.captured,
    )
    expect(ask({ end: 'DEADLINE_EXCEEDED', vendor: 'accepted', cost: 9, beyond: 50 })).toEqual(MEANS.refunded)
  })
})
