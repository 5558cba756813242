import { PROBLEMS, type Problem } from '@holdfast/shared'
import type { Context } from 'hono'
import { isDatabaseAway } from '../database/database-errors.ts'
import { isUndefinedTable } from '../database/schema-state.ts'
import { HoldfastError } from '../errors.ts'
import { logFailure } from '../outage-log.ts'
import type { AppEnv } from './app-context.ts'

const RETRY_AFTER_DATABASE_SECONDS = 2

/** The one place where an error becomes an HTTP answer. What the caller need not know is logged under the same trace id. */
export function problemResponse(error: unknown, c: Context<AppEnv>): Response {
  const known = toHoldfastError(error)
  const { status, title } = PROBLEMS[known.code]
  const log = c.get('log')
  if (known.code === 'INTERNAL') log.error({ err: error }, 'unexpected error')
  else if (isDatabaseAway(error)) logFailure(log, error, 'request refused', { code: known.code })
  else if (status >= 500) log.warn({ err: error, code: known.code }, 'request refused')
  else log.debug({ code: known.code, detail: known.message }, 'request refused')

  const problem: Problem = {
    type: 'about:blank',
    title,
    status,
    code: known.code,
    detail: known.message,
    traceId: c.get('traceId'),
  }
  if (known.retryAfterSeconds !== null) c.header('Retry-After', String(known.retryAfterSeconds))
  if (status === 401) c.header('WWW-Authenticate', 'Bearer')
  c.header('Content-Type', 'application/problem+json')
  return c.body(JSON.stringify(problem), status)
}

function toHoldfastError(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error
  if (isDatabaseAway(error)) {
    return new HoldfastError(
      'UNAVAILABLE',
      'The database cannot be reached right now. Nothing was changed; try again shortly.',
      {
        cause: error,
        retryAfterSeconds: RETRY_AFTER_DATABASE_SECONDS,
      },
    )
  }
  if (isUndefinedTable(error)) {
    return new HoldfastError('UNAVAILABLE', 'The database is being prepared. Try again shortly.', {
      cause: error,
      retryAfterSeconds: RETRY_AFTER_DATABASE_SECONDS,
    })
  }
  return new HoldfastError(
    'INTERNAL',
    'Something went wrong on our side. The trace id helps to find out what.',
    { cause: error },
  )
}
