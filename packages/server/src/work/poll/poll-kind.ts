import type { WorkKind } from '../../engine/work-kind.ts'
import type { ProviderWork } from '../provider-work.ts'
import { type ClaimedPoll, claimPolls } from './claim-polls.ts'
import { handBack, runPoll } from './run-poll.ts'

/** Asking one provider about its tasks. */
export function createPollKind({
  context,
  provider,
  slots,
  claimOptions,
}: ProviderWork): WorkKind<ClaimedPoll> {
  const { sql, notify, leaseMs, metrics, stopping } = context
  // The rest of the claim's time is the call's.
  const mayWaitMs = leaseMs - provider.limits.callTimeoutMs

  return {
    name: 'poll',
    of: provider.name,
    slots: slots.query,
    leaseMs,
    observe() {
      metrics.circuit(provider.name, context.breaker.state)
      metrics.inFlight(provider.name, 'create', slots.create.underWay)
      metrics.inFlight(provider.name, 'query', slots.query.underWay)
    },
    async claim(room) {
      const claims = await claimPolls(sql, claimOptions(room))
      if (claims.works.length > 0) metrics.claimed(provider.name, 'poll', claims.works)
      // The claim has set when each comes due again.
      for (const { plannedMs } of claims.works) {
        notify.dueHere('poll', provider.name, Math.max(leaseMs, plannedMs) + 100)
      }
      return claims
    },
    // A poll that was claimed anew while under way was asked for by somebody who knows more, say a webhook: it is made,
    // and the answer that comes first counts.
    async run(work, { claimedAt }) {
      if (stopping.aborted || performance.now() - claimedAt > mayWaitMs) handBack(context, provider, work)
      else await runPoll(context, provider, work)
    },
    handBack(works) {
      for (const work of works) handBack(context, provider, work)
    },
  }
}
