import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Alert } from '../../alerts/alert.ts'
import type { Sql } from '../../database/connect.ts'
import { isDatabaseAway } from '../../database/database-errors.ts'
import { logFailure } from '../../outage-log.ts'
import type { WebhookEndpoint } from './endpoint.ts'
import { registerEndpoints } from './register-endpoints.ts'

/** How often a server names its endpoints. */
const REGISTER_EVERY_MS = 10 * 60_000
/** Until it is registered for the first time, an endpoint is not told what happens. */
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 60_000

export interface KeepRegisteredContext {
  sql: Sql
  endpoints: readonly WebhookEndpoint[]
  log: Logger
  alert: Alert
  stopping: AbortSignal
}

/** Registers this server's endpoints when it starts and every ten minutes, until it stops. */
export async function keepRegistered({
  sql,
  endpoints,
  log,
  alert,
  stopping,
}: KeepRegisteredContext): Promise<void> {
  let retryMs = FIRST_RETRY_MS
  while (!stopping.aborted) {
    let pauseMs = REGISTER_EVERY_MS
    try {
      await registerEndpoints(sql, endpoints)
      retryMs = FIRST_RETRY_MS
    } catch (error) {
      logFailure(log, error, 'webhook endpoints could not be registered; trying again')
      pauseMs = retryMs
      if (!isDatabaseAway(error)) {
        alert(notRegistered(endpoints, error))
        retryMs = Math.min(LONGEST_RETRY_MS, retryMs * 2)
      }
    }
    // An abort only ends the pause.
    await sleep(pauseMs, undefined, { signal: stopping }).catch(() => {})
  }
}

function notRegistered(endpoints: readonly WebhookEndpoint[], error: unknown): Parameters<Alert>[0] {
  const names = endpoints.map(({ name }) => `"${name}"`).join(', ')
  return {
    name: 'endpoint-not-registered',
    key: names,
    level: 'critical',
    message: `The webhook endpoints ${names} cannot be registered, so a new one is not told what happens. The reason: ${error instanceof Error ? error.message : 'unknown'}.`,
  }
}
