import { logFailure, outageLogOf } from '../outage-log.ts'
import { claimDeliveries } from './claim-deliveries.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { runDelivery } from './run-delivery.ts'
import type { Wakeable } from './wakeable.ts'

const AT_ONCE = 16
/** Longer than all of a task's deliveries may take. */
const LEASE_MS = 6 * 60_000
const PAUSE_WHEN_AWAY_MS = 1_000

/** Claims what is to be told to the app's endpoints and tells it, until told to stop; then waits for what is under way. */
export async function runDeliveries(
  context: DeliveryContext,
  { alarm, idleMs }: { alarm: Wakeable; idleMs: number },
): Promise<void> {
  const { sql, endpoints, log, metrics, stopping } = context
  const names = [...endpoints.keys()]
  const underWay = new Set<Promise<void>>()

  async function fill(): Promise<number> {
    const room = AT_ONCE - underWay.size
    if (room === 0) return idleMs
    const claimed = await claimDeliveries(sql, { endpoints: names, limit: room, leaseMs: LEASE_MS })
    for (const work of claimed) {
      metrics.claimed(work.endpoint, 'deliver', [work])
      const finished = runDelivery(context, work)
        .catch((error: unknown) => {
          const { taskId, traceId } = work
          logFailure(log, error, 'a webhook could not be sent', { taskId, traceId }, 'error')
        })
        .finally(() => {
          underWay.delete(finished)
          alarm.wake()
        })
      underWay.add(finished)
    }
    return claimed.length === room ? 0 : idleMs
  }

  while (!stopping.aborted) {
    try {
      const pauseMs = await fill()
      outageLogOf(log, 'PostgreSQL').back()
      if (pauseMs > 0) await alarm.pause(pauseMs, stopping)
    } catch (error) {
      logFailure(log, error, 'looking for webhooks to send failed; trying again')
      await alarm.pause(PAUSE_WHEN_AWAY_MS, stopping)
    }
  }
  await Promise.all(underWay)
}
