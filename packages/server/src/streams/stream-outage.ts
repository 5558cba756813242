import type { Logger } from 'pino'
import { isDatabaseAway } from '../database/database-errors.ts'

/** One line when streams cannot look for changes and one when they can again, however many of them there are. */
export interface StreamOutage {
  away(error: unknown): void
  back(): void
}

export function createStreamOutage(log: Pick<Logger, 'error' | 'warn' | 'info'>): StreamOutage {
  let isAway = false
  return {
    away(error) {
      if (isAway) return
      isAway = true
      log[isDatabaseAway(error) ? 'warn' : 'error'](
        { err: error },
        'streams cannot look for changes; they stay open and try again',
      )
    },
    back() {
      if (isAway) log.info('streams find changes again')
      isAway = false
    },
  }
}
