import type { FailureCode } from '@holdfast/shared'
import type { CancelPolicy } from '../../tasks/task-types.ts'

/** Every way a task can end. */
export type End = 'completed' | 'cancelled by the user' | 'cancelled by the provider' | FailureCode

/**
 * What the provider was made to do.
 *
 * - `nothing`: no create was sent, or the provider certainly did not take it.
 * - `maybe`: a create is under way, and its reply will tell.
 * - `lost`: a create was sent, and nobody will ever know what became of it.
 * - `accepted`: the provider took the create.
 * - `finished`: the provider took the create and has said its last word about it.
 */
export type VendorSide = 'nothing' | 'maybe' | 'lost' | 'accepted' | 'finished'

export interface ChargeQuestion {
  end: End
  vendor: VendorSide
  policy: CancelPolicy
  /** What was put aside. */
  held: number
  /** What it really cost, where the type can tell from the usage; null: what was held. */
  cost: number | null
  /** How much may be taken beyond the hold. */
  beyond: number
}

/** What becomes of the credits that were put aside for a task. */
export type Charge =
  /** Nothing yet: the reply to the create decides. */
  | { kind: 'wait' }
  | { kind: 'refund' }
  /** `amount` is spent, the rest of the hold comes back; `shortfall` is what it cost beyond that. */
  | { kind: 'capture'; amount: number; shortfall: number }

/**
 * Who pays, in one place (the table is in docs/RELIABILITY.md). A result is paid for. A cancel of the user is paid for by
 * the type's policy. Whatever the provider or we ended without a result is given back.
 */
export function decideCharge({ end, vendor, policy, held, cost, beyond }: ChargeQuestion): Charge {
  const refund: Charge = { kind: 'refund' }
  if (end === 'completed') {
    const real = cost ?? held
    const amount = Math.min(real, held + beyond)
    return { kind: 'capture', amount, shortfall: real - amount }
  }
  if (end !== 'cancelled by the user') return refund

  const whole: Charge = { kind: 'capture', amount: held, shortfall: 0 }
  if (policy === 'refund') return refund
  if (policy === 'capture') return whole
  switch (vendor) {
    case 'nothing':
    case 'lost':
      return refund
    case 'maybe':
      return { kind: 'wait' }
    case 'accepted':
    case 'finished':
      return whole
  }
}
