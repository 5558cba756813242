import { createMiddleware } from 'hono/factory'
import type { Authenticate } from '../auth/authenticate.ts'
import { HoldfastError } from '../errors.ts'
import type { AppEnv } from './app-context.ts'

/** Nobody passes without a good token (S2). Tokens are read from the header only, so they never stand in a URL. */
export function requireUser(authenticate: Authenticate) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const header = c.req.header('authorization')
    const token = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1]
    if (!token) {
      throw new HoldfastError('UNAUTHENTICATED', 'Send a token: "Authorization: Bearer <token>".')
    }
    c.set('identity', await authenticate(token))
    await next()
  })
}
