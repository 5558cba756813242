import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Alert } from '../alerts/alert.ts'
import type { WriteContext } from '../bus/create-notify.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { logFailure } from '../outage-log.ts'
import type { Settle } from '../tasks/create-settle.ts'
import type { TaskTypes } from '../tasks/task-types.ts'
import type { WebhookEndpoint } from '../work/deliver/endpoint.ts'
import { sweepOverdue } from '../work/poll/sweep-overdue.ts'
import { sweepSilent } from '../work/poll/sweep-silent.ts'
import { sweepWaiting } from '../work/send/sweep-waiting.ts'
import { sweepEndpoints } from './sweep-endpoints.ts'
import { sweepExpiredFiles } from './sweep-expired-files.ts'
import { type Retention, sweepOldRows } from './sweep-old-rows.ts'
import { sweepUsedUp } from './sweep-used-up.ts'

export interface SweepContext extends WriteContext {
  settle: Settle
  types: TaskTypes
  log: Logger
  alert: Alert
  /** The endpoints in this server's own settings. @default none */
  webhooks?: readonly WebhookEndpoint[] | undefined
  /** Where result files are kept. @default nowhere */
  objects?: ObjectStore | undefined
  retention?: Retention | undefined
}

const SWEEPS: Record<string, (context: SweepContext) => Promise<number>> = {
  overdue: sweepOverdue,
  waiting: sweepWaiting,
  silent: sweepSilent,
  'used-up': sweepUsedUp,
  endpoints: sweepEndpoints,
  'expired-files': sweepExpiredFiles,
  'old-rows': sweepOldRows,
}

/** Looks after what no single step can see, again and again until told to stop. Run under a lock. */
export async function runSweeps(
  context: SweepContext & { metrics: Metrics; everyMs: number; until: AbortSignal },
): Promise<void> {
  const { until, metrics, log, everyMs } = context
  while (!until.aborted) {
    for (const [name, sweep] of Object.entries(SWEEPS)) {
      if (until.aborted) return
      try {
        metrics.swept(name, await sweep(context))
      } catch (error) {
        logFailure(log, error, 'a sweep could not be finished; the next one tries again', { sweep: name })
      }
    }
    // An abort only ends the pause.
    await sleep(everyMs, undefined, { signal: until }).catch(() => {})
  }
}
