import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import { isDatabaseAway } from './database/database-errors.ts'

export type Dependency = 'PostgreSQL' | 'Redis' | 'The object store'

/** What the parts that use a dependency tell of it. */
export interface OutageLog {
  readonly isAway: boolean
  away(error: unknown): void
  /** It has answered. */
  back(): void
}

/**
 * While a dependency comes and goes, some parts still reach it over the connections that they have. It counts as back
 * when it answers and nobody has failed for this long; loops that fail try again every second.
 */
const QUIET_MS = 2_500

const known = new WeakMap<object, Map<Dependency, OutageLog>>()

/**
 * One line when something goes away and one when it is back, for all parts of a process together, however often they
 * try in between. The parts share nothing but the log they were given, so that is what the outage is remembered by; a
 * child of a log shares its parent's.
 */
export function outageLogOf(
  log: Pick<Logger, 'warn'>,
  what: Dependency,
  now: () => number = () => performance.now(),
): OutageLog {
  for (let at: object | null = log; at !== null; at = Object.getPrototypeOf(at)) {
    const found = known.get(at)?.get(what)
    if (found) return found
  }
  const outage = createOutageLog(log, what, now)
  const ofLog = known.get(log) ?? new Map<Dependency, OutageLog>()
  known.set(log, ofLog.set(what, outage))
  return outage
}

function createOutageLog(log: Pick<Logger, 'warn'>, what: Dependency, now: () => number): OutageLog {
  let awaySince: number | null = null
  let failedAt = 0
  return {
    get isAway() {
      return awaySince !== null
    },
    away(error) {
      failedAt = now()
      if (awaySince !== null) return
      awaySince = failedAt
      log.warn({ reason: reasonOf(error) }, `${what} is out of reach; trying again until it is back`)
    },
    back() {
      if (awaySince === null || now() - failedAt < QUIET_MS) return
      const seconds = Math.round((now() - awaySince) / 1_000)
      awaySince = null
      // As loud as the other line: who has read that one must not miss this one.
      log.warn({ seconds }, `${what} is back`)
    },
  }
}

/**
 * Something failed and is tried again. If PostgreSQL is out of reach, that is said once for all; what it meant for this
 * part is for those who debug.
 */
export function logFailure(
  log: Pick<Logger, 'debug' | 'warn' | 'error'>,
  error: unknown,
  message: string,
  fields: Record<string, unknown> = {},
  otherwise: 'warn' | 'error' = 'warn',
): void {
  const isAway = isDatabaseAway(error)
  if (isAway) outageLogOf(log, 'PostgreSQL').away(error)
  log[isAway ? 'debug' : otherwise]({ ...fields, err: error }, message)
}

/** Without a stack: it leads into a driver, and nobody is at fault there. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  const said = error.message || (error.cause instanceof Error ? error.cause.message : error.name)
  return code === null || said.includes(code) ? said : `${said} (${code})`
}
