import { randomBytes } from 'node:crypto'
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { matchedRoutes } from 'hono/route'
import type { Logger } from 'pino'
import type { AppEnv } from './app-context.ts'

/** What a caller says of the trace that its request belongs to. */
export interface TraceContext {
  traceId: string
  /** The caller's own step of the trace. */
  parentId: string
  /** `01`: the caller records this trace. */
  flags: string
}

/** Version, 32 hex digits of trace id, parent, flags: https://www.w3.org/TR/trace-context/ */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/

/** Null for what the standard calls invalid: then the request begins a trace of its own. */
export function readTraceparent(header: string | undefined): TraceContext | null {
  const [, version, traceId = '', parentId = '', flags = '', more] = TRACEPARENT.exec(header ?? '') ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null
  if (ZEROS.test(traceId) || ZEROS.test(parentId)) return null
  return { traceId, parentId, flags }
}

/** Gives each request a trace id (the caller's, if it sent `traceparent`) and a logger that writes it on every line. */
export function trace(log: Logger) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const given = readTraceparent(c.req.header('traceparent'))
    const traceId = given?.traceId ?? randomBytes(16).toString('hex')
    const startedAt = performance.now()
    c.set('traceId', traceId)
    c.set(
      'log',
      log.child({ traceId, ...(given ? { parentId: given.parentId, traceFlags: given.flags } : {}) }),
    )
    c.header('X-Trace-Id', traceId)
    await next()
    c.get('log').info(
      {
        method: c.req.method,
        route: routeOf(c),
        status: c.res.status,
        ms: Math.round(performance.now() - startedAt),
      },
      'request',
    )
  })
}

/**
 * The pattern of the route, never the address itself: addresses that providers call carry secrets, also those with a
 * slash too many. Null where no route took the request.
 */
function routeOf(c: Context<AppEnv>): string | null {
  // Middleware is registered for all methods.
  return matchedRoutes(c).findLast(({ method }) => method !== 'ALL')?.path ?? null
}
