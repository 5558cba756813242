import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Alert } from '../alerts/alert.ts'
import type { Sql } from '../database/connect.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { readWaitingWork, type WaitingWork } from './read-waiting-work.ts'

export interface WatchWorkContext {
  sql: Sql
  log: Logger
  metrics: Metrics
  alert: Alert
  /** How often it looks. */
  everyMs: number
  stopping: AbortSignal
}

/**
 * Shows what is due and unclaimed, and alerts when nobody works on a provider. In every replica, without a lock: the
 * lock may be the very thing that is gone. One statement for each look.
 */
export async function watchWork(context: WatchWorkContext): Promise<void> {
  const { sql, log, metrics, everyMs, stopping } = context
  let before = new Set<string>()
  while (!stopping.aborted) {
    try {
      const waiting = await readWaitingWork(sql)
      metrics.workWaiting(waiting)
      before = tell(context.alert, waiting, before)
    } catch (error) {
      log.debug({ err: error }, 'looking for unclaimed work failed; trying again')
      // What was true before is not known to be true now.
      metrics.workWaiting(null)
      before = new Set()
    }
    // An abort only ends the pause.
    await sleep(everyMs, undefined, { signal: stopping }).catch(() => {})
  }
}

/**
 * Alerts for providers whose work was left at the look before as well. After a stop of everything, or an outage of the
 * database, the first look may come before the first claim. Returns the providers whose work is left now.
 */
function tell(alert: Alert, waiting: readonly WaitingWork[], before: ReadonlySet<string>): Set<string> {
  const left = Map.groupBy(
    waiting.filter(({ isLeft }) => isLeft),
    ({ provider }) => provider,
  )
  for (const [provider, ofProvider] of left) {
    if (!before.has(provider)) continue
    const seconds = Math.round(Math.max(...ofProvider.map(({ oldestMs }) => oldestMs)) / 1000)
    const steps = ofProvider.reduce((sum, { count }) => sum + count, 0)
    alert({
      name: 'nobody-works',
      key: provider,
      level: 'critical',
      message: `Nobody works on "${provider}": ${steps} steps are due, the oldest for ${seconds} s, and no replica claims any. Look whether a replica with this provider runs, and whether the lock (PostgreSQL or Redis) can be had.`,
      details: { provider, steps, oldestSeconds: seconds },
    })
  }
  return new Set(left.keys())
}
