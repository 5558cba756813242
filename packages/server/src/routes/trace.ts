import { randomBytes } from 'node:crypto'
import { createMiddleware } from 'hono/factory'
import type { Logger } from 'pino'
import type { AppEnv } from './app-context.ts'

/** Version, 32 hex digits of trace id, parent, flags: https://www.w3.org/TR/trace-context/ */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/

/** Gives each request a trace id (the caller's, if it sent `traceparent`) and a logger that writes it on every line. */
export function trace(log: Logger) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const traceId =
      TRACEPARENT.exec(c.req.header('traceparent') ?? '')?.[1] ?? randomBytes(16).toString('hex')
    const startedAt = performance.now()
    c.set('traceId', traceId)
    c.set('log', log.child({ traceId }))
    c.header('X-Trace-Id', traceId)
    await next()
    // Without the query string: it is the caller's, and nobody knows what is in it.
    c.get('log').info(
      {
        method: c.req.method,
        path: c.req.path,
        status: c.res.status,
        ms: Math.round(performance.now() - startedAt),
      },
      'request',
    )
  })
}
