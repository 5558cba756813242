import type { Logger } from 'pino'

export type LockLog = Pick<Logger, 'info' | 'warn'>

export interface OutageLog {
  away(error: unknown): void
  back(): void
  isAway(): boolean
}

/** One line when something goes away and one when it is back, however often it is tried in between. */
export function createOutageLog(log: LockLog, what: string): OutageLog {
  let isAway = false
  return {
    away(error) {
      if (isAway) return
      isAway = true
      log.warn({ err: error }, `${what} cannot be used for locks; trying again until it can`)
    },
    back() {
      if (!isAway) return
      isAway = false
      log.info(`${what} can be used for locks again`)
    },
    isAway: () => isAway,
  }
}
