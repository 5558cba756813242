import { bodyLimit } from 'hono/body-limit'
import { createMiddleware } from 'hono/factory'
import { HoldfastError } from '../errors.ts'
import type { AppEnv } from './app-context.ts'

/**
 * Refuses bodies that are too large. Hono's own has a whole `Request` built for each caller, only to see whether there
 * is a body, and V8 frees those late; so it is asked only where the headers do not say how much comes.
 */
export function limitBody({ maxBytes, message }: { maxBytes: number; message: string }) {
  const refuse = (): never => {
    throw new HoldfastError('BODY_TOO_LARGE', message)
  }
  const limitStream = bodyLimit({ maxSize: maxBytes, onError: refuse })

  return createMiddleware<AppEnv>(async (c, next) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next()
    const length = c.req.header('content-length')
    if (length === undefined || c.req.header('transfer-encoding') !== undefined) return limitStream(c, next)
    if (Number(length) > maxBytes) refuse()
    return next()
  })
}
