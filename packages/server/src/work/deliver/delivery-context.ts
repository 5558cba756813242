import type { Logger } from 'pino'
import type { Sql } from '../../database/connect.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { Presenter } from '../../tasks/present-tasks.ts'
import type { WebhookEndpoint } from './endpoint.ts'

/** What the telling of an app's own endpoints needs of the rest. */
export interface DeliveryContext {
  sql: Sql
  endpoints: ReadonlyMap<string, WebhookEndpoint>
  present: Presenter
  log: Logger
  metrics: Metrics
  random: () => number
  /** A step comes due again after so long. */
  due(inMs: number): void
  /** Aborted when the engine stops: what is under way is given up and handed back. */
  stopping: AbortSignal
}
