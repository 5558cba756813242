import type { WorkKind } from '../../engine/work-kind.ts'
import type { ProviderWork } from '../provider-work.ts'
import { type ClaimedCancel, claimCancels } from './claim-cancels.ts'
import { runCancel } from './run-cancel.ts'

/** Asking one provider to stop what nobody wants any more. */
export function createCancelKind({
  context,
  provider,
  slots,
  claimOptions,
}: ProviderWork): WorkKind<ClaimedCancel> {
  return {
    name: 'cancel',
    of: provider.name,
    slots: slots.query,
    leaseMs: context.leaseMs,
    async claim(room) {
      const claims = await claimCancels(context.sql, claimOptions(room))
      if (claims.works.length > 0) context.metrics.claimed(provider.name, 'cancel', claims.works)
      return claims
    },
    run: (work) => runCancel(context, provider, work),
  }
}
