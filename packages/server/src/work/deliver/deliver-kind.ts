import { createCircuitBreaker } from '../../engine/circuit-breaker.ts'
import { createSlots } from '../../engine/slots.ts'
import type { WorkKind } from '../../engine/work-kind.ts'
import { ENDPOINTS } from '../../engine/work-queue.ts'
import { type ClaimedDelivery, claimDeliveries } from './claim-deliveries.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { runDelivery } from './run-delivery.ts'

const AT_ONCE = 16
/** Longer than all of a task's deliveries may take. */
const LEASE_MS = 6 * 60_000

/** Telling the app's endpoints what has happened. Every replica does so, without a lock. */
export function createDeliverKind(context: DeliveryContext): WorkKind<ClaimedDelivery> {
  const { sql, endpoints, metrics } = context
  const names = [...endpoints.keys()]
  return {
    name: 'deliver',
    of: ENDPOINTS,
    // One endpoint that fails says nothing of the others: there is no circuit to open.
    slots: createSlots({
      breaker: createCircuitBreaker(),
      atOnce: AT_ONCE,
      capacity: () => AT_ONCE,
      fewest: () => 1,
    }),
    leaseMs: LEASE_MS,
    async claim({ count }) {
      const works = await claimDeliveries(sql, { endpoints: names, limit: count, leaseMs: LEASE_MS })
      for (const work of works) metrics.claimed(work.endpoint, 'deliver', [work])
      return { works, retryMs: null }
    },
    run: (work) => runDelivery(context, work),
  }
}
