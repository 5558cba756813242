import type { Logger } from 'pino'
import type { WriteContext } from '../../bus/create-notify.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { Presenter } from '../../tasks/present-tasks.ts'
import type { WebhookEndpoint } from './endpoint.ts'

/** What the telling of an app's own endpoints needs of the rest. */
export interface DeliveryContext extends WriteContext {
  endpoints: ReadonlyMap<string, WebhookEndpoint>
  present: Presenter
  log: Logger
  metrics: Metrics
  random: () => number
  /** Aborted when the engine stops: what is under way is given up and handed back. */
  stopping: AbortSignal
}
