import type { Logger } from 'pino'
import { isDatabaseAway } from '../database/database-errors.ts'
import { logFailure, outageLogOf } from '../outage-log.ts'

/** One line when streams cannot look for changes and one when they can again, however many of them there are. */
export interface StreamOutage {
  away(error: unknown): void
  back(): void
}

export function createStreamOutage(log: Logger): StreamOutage {
  const database = outageLogOf(log, 'PostgreSQL')
  let isAway = false
  return {
    away(error) {
      if (isDatabaseAway(error)) database.away(error)
      if (isAway) return
      isAway = true
      const message = 'streams cannot look for changes; they stay open and try again'
      logFailure(log, error, message, {}, 'error')
    },
    back() {
      database.back()
      if (isAway) log.debug('streams find changes again')
      isAway = false
    },
  }
}
